package migration

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// left returns which of the keys a cache has.
func left(has func(string) bool, keys ...string) string {
	keys = slices.DeleteFunc(keys, func(k string) bool { return !has(k) })
	return strings.Join(keys, " ")
}

// The keys are read in the reverse order of their arrival, so golang-lru keeps the first, which
// was used last. Ours passes over what was read, and then evicts in the order of arrival.
func TestLRUOrder(t *testing.T) {
	l := must(lru.New[string, int](3))
	p := pinwheel(t, cache.Options[string, int]{Limit: 3})
	for _, k := range []string{"a", "b", "c"} {
		l.Add(k, 1)
		p.Set(k, 1)
	}
	for _, k := range []string{"c", "b", "a"} {
		l.Get(k)
		p.Get(k)
	}
	l.Add("d", 1)
	p.Set("d", 1)
	want(t, "golang-lru has", left(l.Contains, "a", "b", "c", "d"), "a b d")
	want(t, "ours has", left(func(k string) bool { return has(p.Peek(k)) }, "a", "b", "c", "d"), "b c d")
}

func TestLRUKeysInOrder(t *testing.T) {
	l := must(lru.New[int, int](100))
	for i := range 100 {
		l.Add(i, i)
	}
	l.Get(0)
	keys := l.Keys()
	want(t, "golang-lru: oldest key", keys[0], 1)
	want(t, "golang-lru: newest key", keys[99], 0)
}

// A size of 0 is an error of New and means "keep nothing" to Resize there; here it is no limit.
func TestLRUSizeZero(t *testing.T) {
	if _, err := lru.New[string, int](0); err == nil {
		t.Error("golang-lru: New(0) is accepted")
	}
	l := must(lru.New[string, int](3))
	l.Add("a", 1)
	l.Resize(0)
	l.Add("b", 1)
	want(t, "golang-lru: Len after Resize(0) and Add", l.Len(), 0)

	p := pinwheel(t, cache.Options[string, int]{Limit: 1})
	p.Set("a", 1)
	if err := p.Resize(0); err != nil {
		t.Error(err)
	}
	p.Set("b", 1)
	want(t, "ours: Len after Resize(0) and Set", p.Len(), 2)
}

// golang-lru does not report a value that another one replaces.
func TestLRUReplaced(t *testing.T) {
	calls := 0
	l := must(lru.NewWithEvict(3, func(string, int) { calls++ }))
	l.Add("a", 1)
	l.Add("a", 2)
	want(t, "golang-lru: calls for a replaced value", calls, 0)
	l.Remove("a")
	want(t, "golang-lru: calls when Remove returned", calls, 1)

	events := make(chan cache.Event[string, int], 1)
	p := pinwheel(t, cache.Options[string, int]{
		OnRemove: func(e cache.Event[string, int]) { events <- e },
	})
	p.Set("a", 1)
	p.Set("a", 2)
	want(t, "ours", <-events, cache.Event[string, int]{Key: "a", Value: 1, Cause: cache.Replaced})
	p.Del("a")
	want(t, "ours", <-events, cache.Event[string, int]{Key: "a", Value: 2, Cause: cache.Deleted})
}

// ContainsOrAdd and PeekOrAdd do not count as a use; GetOrSet does.
func TestLRUGetOrSetIsUse(t *testing.T) {
	l := must(lru.New[string, int](2))
	p := pinwheel(t, cache.Options[string, int]{Limit: 2})
	for _, k := range []string{"a", "b"} {
		l.Add(k, 1)
		p.Set(k, 1)
	}
	l.PeekOrAdd("a", 1)
	p.GetOrSet("a", 1)
	l.Add("c", 1)
	p.Set("c", 1)
	want(t, "golang-lru has", left(l.Contains, "a", "b", "c"), "b c")
	want(t, "ours has", left(func(k string) bool { return has(p.Peek(k)) }, "a", "b", "c"), "a c")
}

// newExpirable makes a cache outside of the test's bubble, as its goroutine never ends. The
// cache reads the time in the goroutine of its caller, so inside the bubble.
func newExpirable(size int, ttl time.Duration) *expirable.LRU[string, int] {
	return expirable.NewLRU[string, int](size, nil, ttl)
}

// Past the deadline, Get of expirable finds nothing, but other methods see the entry until
// the sweeper removes it.
func TestExpirableSeesExpired(t *testing.T) {
	const ttl = 10 * time.Hour // the sweeper runs every six minutes of real time
	e := newExpirable(10, ttl)
	synctest.Test(t, func(t *testing.T) {
		p := pinwheel(t, cache.Options[string, int]{Expire: ttl})
		e.Add("k", 7)
		p.Set("k", 7)
		time.Sleep(ttl + 1)
		want(t, "expirable: Get", has(e.Get("k")), false)
		want(t, "expirable: Contains", e.Contains("k"), true)
		want(t, "expirable: keys", len(e.Keys()), 1)
		want(t, "expirable: values", slices.Equal(e.Values(), []int{0}), true) // the zero value, never stored

		seen := 0
		for range p.All() {
			seen++
		}
		want(t, "ours: Get", has(p.Get("k")), false)
		want(t, "ours: Peek", has(p.Peek("k")), false)
		want(t, "ours: entries of All", seen, 0)
	})
}

// A TTL or size of 0 or less means none there; here 0 does, and a negative one is an error.
func TestExpirableOddOptions(t *testing.T) {
	e := newExpirable(-1, -1)
	synctest.Test(t, func(t *testing.T) {
		for _, k := range []string{"a", "b"} {
			e.Add(k, 1)
		}
		time.Sleep(10 * time.Hour)
		want(t, "expirable has", left(func(k string) bool { return has(e.Get(k)) }, "a", "b"), "a b")
	})
	for _, o := range []cache.Options[string, int]{{Limit: -1}, {Expire: -1}, {Expire: 60 * 60}} {
		if _, err := cache.New(o); err == nil {
			t.Errorf("ours: accepted Limit %d, Expire %v", o.Limit, o.Expire)
		}
	}
}

// The goroutine of expirable goes on when nobody refers to the cache any more.
func TestExpirableGoroutine(t *testing.T) {
	newExpirable(1, 10*time.Hour)
	runtime.GC()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	want(t, "expirable: its goroutine is there", strings.Contains(string(stacks), "expirable.NewLRU"), true)
}

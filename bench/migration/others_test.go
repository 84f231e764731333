package migration

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Yiling-J/theine-go"
	"github.com/allegro/bigcache/v3"
	"github.com/coocood/freecache"
	expirablecache "github.com/go-pkgz/expirable-cache/v3"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Where a callback was synchronous, Wait waits for it.
func TestWaitForCallbacks(t *testing.T) {
	calls := 0
	p := pinwheel(t, cache.Options[string, int]{OnRemove: func(cache.Event[string, int]) { calls++ }})
	p.Set("k", 1)
	p.Del("k")
	want(t, "ours: error of Wait", p.Wait(t.Context()), nil)
	want(t, "ours: calls after Wait", calls, 1)
}

// A Weigh of at least a share of MaxWeight bounds the number of entries too.
func TestBothLimits(t *testing.T) {
	const most, entries = 1000, 10
	p := pinwheel(t, cache.Options[int, int]{
		MaxWeight: most,
		Weigh:     func(_, size int) uint32 { return uint32(max(size, most/entries)) },
	})
	for key := range 100 {
		p.Set(key, 1)
	}
	want(t, "ours: small entries", p.Len(), entries)
	for key := range 100 {
		p.Set(key, 400)
	}
	want(t, "ours: large entries", p.Len(), 2)
}

// expirable-cache evicts the oldest unless WithLRU is set; and what has expired stays, with its
// value in what Get returns beside false.
func TestExpirableCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := expirablecache.NewCache[string, int]().WithMaxKeys(2).WithTTL(time.Hour)
		p := pinwheel(t, cache.Options[string, int]{Limit: 2, Expire: time.Hour})
		for _, k := range []string{"a", "b"} {
			e.Add(k, 1)
			p.Set(k, 1)
		}
		e.Get("a")
		p.Get("a")
		e.Set("c", 7, 0) // the default TTL
		p.SetWithExpire("c", 7, 0)
		want(t, "expirable-cache has", left(e.Contains, "a", "b", "c"), "b c")
		want(t, "ours has", left(func(k string) bool { return has(p.Peek(k)) }, "a", "b", "c"), "a c")
		time.Sleep(time.Hour + 1)
		v, ok := e.Get("c")
		want(t, "expirable-cache: value past its TTL", v, 7)
		want(t, "expirable-cache: found past its TTL", ok, false)
		want(t, "expirable-cache: Len", e.Len(), 2)
		want(t, "ours: there with a TTL of 0", has(p.Get("c")), true)
	})
}

// bigcache returns what has expired until it is cleaned up, here by the next Set, and says so if
// asked for it.
func TestBigCacheReturnsExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := must(bigcache.New(context.Background(), bigcache.Config{Shards: 1, LifeWindow: time.Minute, MaxEntriesInWindow: 10, MaxEntrySize: 10}))
		p := pinwheel(t, cache.Options[string, []byte]{Expire: time.Minute})
		want(t, "bigcache: error of Set", b.Set("k", []byte("v")), nil)
		p.Set("k", []byte("v"))
		time.Sleep(time.Hour)
		v, err := b.Get("k")
		want(t, "bigcache: an hour later", string(v), "v")
		want(t, "bigcache: error", err, nil)
		_, info, _ := b.GetWithInfo("k")
		want(t, "bigcache: status", info.EntryStatus, bigcache.Expired)
		want(t, "bigcache: error of Set", b.Set("other", nil), nil)
		_, err = b.Get("k")
		want(t, "bigcache: error after a Set", err, bigcache.ErrEntryNotFound)
		want(t, "ours: an hour later", has(p.Get("k")), false)
	})
}

// freecache refuses what is larger than 1/1024 of it.
func TestFreeCacheLargeEntry(t *testing.T) {
	const size = 1 << 20
	f := freecache.NewCache(size)
	p := pinwheel(t, cache.Options[string, []byte]{
		MaxWeight: size,
		Weigh:     func(k string, v []byte) uint32 { return uint32(len(k) + len(v)) },
	})
	value := make([]byte, 2000)
	want(t, "freecache: Set", f.Set([]byte("k"), value, 0), freecache.ErrLargeEntry)
	p.Set("k", value)
	want(t, "ours: there", has(p.Get("k")), true)
}

// theine's Set has no TTL, refuses what costs more than all, and does not report what is replaced.
func TestTheine(t *testing.T) {
	removed := make(chan int, 10)
	c := must(theine.NewBuilder[string, int](10).
		RemovalListener(func(_ string, v int, _ theine.RemoveReason) { removed <- v }).Build())
	defer c.Close()
	want(t, "theine: Set with a cost above the maximum", c.Set("k", 1, 11), false)
	want(t, "theine: there", has(c.Get("k")), false)
	c.Set("k", 1, 1)
	c.Set("k", 2, 1)
	c.Wait()
	c.Delete("k")
	want(t, "theine: the first value reported", <-removed, 2)

	events := make(chan cache.Event[string, int], 10)
	p := pinwheel(t, cache.Options[string, int]{
		MaxWeight: 10, Weigh: func(_ string, v int) uint32 { return uint32(v) },
		OnRemove: func(e cache.Event[string, int]) { events <- e },
	})
	p.Set("k", 11)
	want(t, "ours: too heavy", (<-events).Cause, cache.Evicted)
	p.Set("k", 1)
	p.Set("k", 2)
	want(t, "ours: the first value reported", <-events, cache.Event[string, int]{Key: "k", Value: 1, Cause: cache.Replaced})
}

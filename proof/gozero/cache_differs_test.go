package gozero

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	theirs "github.com/zeromicro/go-zero/core/collection"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero/collection"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestCacheDiffers does the same with go-zero's cache and with ours in its place, and asserts
// both answers. If that of go-zero's fails, go-zero has fixed the fault and docs/go-zero.md
// is out of date. Ours has fake time. go-zero's has real time, because its goroutines never
// end; answers that depend on the moment are only logged.
func TestCacheDiffers(t *testing.T) {
	t.Run("goroutines without end", endlessGoroutines) // alone: it counts them
	for name, test := range map[string]func(t *testing.T){
		"set twice with a TTL of a second":    setTwice,
		"a TTL of 0 or less":                  oddTTLs,
		"a panic in fetch":                    panicWaiters,
		"Set and Del during Take":             changedDuringTake,
		"what Take counts as hits and misses": takeCounts,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// ourCache returns our cache with go-zero's names.
func ourCache(t *testing.T, expire time.Duration, opts ...collection.CacheOption) *collection.Cache {
	t.Helper()
	c, err := collection.NewCache(expire, opts...)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close(context.Background())) })
	return c
}

// A getter is either cache.
type getter interface{ Get(key string) (any, bool) }

// found returns how many of the keys have a value.
func found(c getter, keys []string) (n int) {
	for _, key := range keys {
		if _, ok := c.Get(key); ok {
			n++
		}
	}
	return n
}

// Ours lives a second, give or take 5 %. go-zero: the jitter puts half of the second
// TTLs below its tick of 1 s, and these keys are gone at once.
func setTwice(t *testing.T) {
	keys := make([]string, 200)
	for i := range keys {
		keys[i] = "k" + strconv.Itoa(i)
	}
	synctest.Test(t, func(t *testing.T) {
		c := ourCache(t, time.Hour)
		for range 2 {
			for _, key := range keys {
				c.SetWithExpire(key, 1, time.Second)
			}
		}
		time.Sleep(949 * ms)
		wantSame(t, "ours: keys before their time", found(c, keys), len(keys))
		time.Sleep(101 * ms)
		wantSame(t, "ours: keys past their time", found(c, keys), 0)
	})

	g := newGoZero(t)
	began := time.Now()
	for _, k := range keys {
		g.SetWithExpire(k, 1, time.Second)
		g.SetWithExpire(k, 1, time.Second)
	}
	left := len(keys)
	for left == len(keys) && time.Since(began) < time.Minute {
		time.Sleep(20 * ms)
		left = found(g, keys)
	}
	if took := time.Since(began); left == len(keys) || took < 500*ms {
		t.Logf("go-zero: %d of %d keys left after %v", left, len(keys), took)
	}
	if left == len(keys) {
		t.Error("go-zero kept all keys: this comparison is out of date")
	}
}

// Ours: 0 is never, negative removes. go-zero: its wheel refuses both and nobody
// looks at the error; the value stays, on an existing key with the old expiry.
func oddTTLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ourCache(t, time.Second)
		for _, key := range []string{"zero", "negative", "least"} {
			c.Set(key, 1)
		}
		c.SetWithExpire("zero", 2, 0)
		c.SetWithExpire("negative", 2, -time.Second)
		c.SetWithExpire("negative, new", 2, math.MinInt64)
		c.SetWithExpire("most", 2, math.MaxInt64)
		wantSame(t, "ours: found, of which zero and most are there", found(c, []string{"zero", "negative", "negative, new", "most"}), 2)
		time.Sleep(time.Minute)
		if n := found(c, []string{"zero", "most"}); n != 2 || c.Len() != 2 {
			t.Errorf("ours: %d found and %d in all, want zero and most", n, c.Len())
		}

		c.Del("most") // or else there would be a tick every 10 ms
		forever := ourCache(t, 0)
		forever.Set("x", 1)
		time.Sleep(1000 * time.Hour)
		wantSame(t, "ours: keys of a cache that does not expire", found(forever, []string{"x"}), 1)
	})

	g := newGoZero(t)
	g.SetWithExpire("negative", 1, -time.Second)
	if v, ok := g.Get("negative"); !ok || v != 1 {
		t.Errorf("go-zero: Get after a negative expire = %v, %t: this comparison is out of date", v, ok)
	}
}

// Ours: waiters get an error that holds the panic. go-zero: its single flight has
// neither value nor error for them.
func panicWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ourCache(t, time.Hour)
		go func() {
			defer func() { _ = recover() }()
			_, _ = c.Take("k", func() (any, error) { time.Sleep(time.Second); panic("boom") })
		}()
		synctest.Wait()
		v, err := c.Take("k", func() (any, error) { return 1, nil })
		if want := new(cache.PanicError); v != nil || !errors.As(err, &want) {
			t.Errorf("ours: %v, %v, want a PanicError", v, err)
		}
	})

	g := newGoZero(t)
	gate, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		takePanic(g, gate)
	}()
	waitForStack(t, "gozero.takePanic(", "chan receive")
	var v any
	var err error
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		v, err = joinPanic(g)
	}()
	// Other tests join fetches at the same time: only this goroutine is in joinPanic.
	waitForStack(t, "gozero.joinPanic(", "syncx.(*flightGroup).createCall", "sync.(*WaitGroup).Wait")
	close(gate)
	<-done
	<-joined
	if v != nil || err != nil {
		t.Errorf("go-zero: a waiter got %v, %v: this comparison is out of date", v, err)
	}
}

// takePanic takes a value whose fetch panics when gate is closed. It and joinPanic have
// names for waitForStack to find.
func takePanic(g *theirs.Cache, gate <-chan struct{}) {
	defer func() { _ = recover() }()
	_, _ = g.Take("k", func() (any, error) { <-gate; panic("boom") })
}

// joinPanic takes the same value, with a fetch that must not be called.
func joinPanic(g *theirs.Cache) (any, error) {
	return g.Take("k", func() (any, error) { return nil, errFetch })
}

// waitForStack waits until the stack of one goroutine has all these parts.
func waitForStack(t *testing.T, parts ...string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(ms) {
		buf := make([]byte, 1<<20)
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(stack, part) }) {
				return
			}
		}
	}
	t.Fatalf("no goroutine has %q in its stack", parts)
}

// Ours: what was loaded before a Set or Del is not stored after it. go-zero: it is.
func changedDuringTake(t *testing.T) {
	type both interface {
		getter
		Set(key string, value any)
		Del(key string)
		Take(key string, fetch func() (any, error)) (any, error)
	}
	for name, change := range map[string]func(c both){
		"Set": func(c both) { c.Set("k", "new") },
		"Del": func(c both) { c.Del("k") },
	} {
		for whose, c := range map[string]both{"ours": ourCache(t, time.Hour), "go-zero": newGoZero(t)} {
			v, err := c.Take("k", func() (any, error) { change(c); return "stale", nil })
			if v != "stale" || err != nil {
				t.Errorf("%s, %s: Take = %v, %v; want its own result", whose, name, v, err)
			}
			if v, _ := c.Get("k"); (v == "stale") != (whose == "go-zero") {
				t.Errorf("%s: after a %s during Take: %v", whose, name, v)
			}
		}
	}
}

// go-zero counts a caller that joins a fetch as a hit, and one whose fetch fails not at all.
// Ours counts both as misses: neither found a value in the cache.
func takeCounts(t *testing.T) {
	g := newGoZero(t)
	takeThrice(g.Take)
	counts := reflect.ValueOf(g).Elem().FieldByName("stats").Elem()
	if hits, misses := counts.FieldByName("hit").Uint(), counts.FieldByName("miss").Uint(); hits != 1 || misses != 1 {
		t.Errorf("go-zero: %d hits, %d misses", hits, misses)
	}
	synctest.Test(t, func(t *testing.T) {
		takeThrice(ourCache(t, time.Hour, collection.WithName("counts")).Take)
		for _, c := range stats.Caches() {
			if c.Name != "counts" {
				continue
			}
			if s := c.Snapshot; s.Hits != 0 || s.Misses != 3 || s.Loads.Waiters != 1 || s.Loads.Failed.Count() != 1 {
				t.Errorf("ours: %+v", s)
			}
		}
	})
}

// takeThrice takes a key twice at once, and another one with a failing fetch.
func takeThrice(take func(string, func() (any, error)) (any, error)) {
	begun, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = take("a", func() (any, error) { close(begun); time.Sleep(10 * ms); return 1, nil })
	}()
	<-begun
	_, _ = take("a", func() (any, error) { return 1, nil })
	<-done
	_, _ = take("b", func() (any, error) { return nil, errors.New("failed") })
}

func endlessGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	ours := ourCache(t, time.Hour)
	ours.Set("k", 1)
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("ours: %d goroutines between ticks, want none", n-before)
	}
	newGoZero(t, theirs.WithLimit(1)).Set("k", 1)
	if n := runtime.NumGoroutine() - before; n < 2 {
		t.Errorf("go-zero: %d goroutines, want two that cannot be ended: this comparison is out of date", n)
	}
	runtime.KeepAlive(ours)
}

package peers

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Yiling-J/theine-go"
	"github.com/jellydator/ttlcache/v3"
	"github.com/maypok86/otter/v2"
	"github.com/viccon/sturdyc"
	"golang.org/x/sync/singleflight"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestOneAndMany takes a key, and while that fetches takes many keys, of which it is one.
//
// Shows: in sturdyc both fetch it.
func TestOneAndMany(t *testing.T) {
	own := cache.Must(cache.Options[string, int]{})
	others := otter.Must(&otter.Options[string, int]{})
	sturdy := sturdyc.New[int](1000, 1, time.Hour, 10, sturdyc.WithNoContinuousEvictions())
	for name, c := range map[string]struct {
		twice bool
		take  func(fetch func() int)
		many  func(keys []string, fetch func(missing []string) map[string]int)
	}{
		"pinwheel": {false, func(fetch func() int) {
			_, _ = own.Take("k", func() (int, error) { return fetch(), nil })
		}, func(keys []string, fetch func([]string) map[string]int) {
			_, _ = own.TakeMany(context.Background(), keys, func(_ context.Context, missing []string) (map[string]int, error) { return fetch(missing), nil })
		}},
		"otter": {false, func(fetch func() int) {
			_, _ = others.Get(context.Background(), "k", otter.LoaderFunc[string, int](func(context.Context, string) (int, error) { return fetch(), nil }))
		}, func(keys []string, fetch func([]string) map[string]int) {
			_, _ = others.BulkGet(context.Background(), keys, otter.BulkLoaderFunc[string, int](func(_ context.Context, missing []string) (map[string]int, error) { return fetch(missing), nil }))
		}},
		"sturdyc": {true, func(fetch func() int) {
			_, _ = sturdy.GetOrFetch(context.Background(), "k", func(context.Context) (int, error) { return fetch(), nil })
		}, func(keys []string, fetch func([]string) map[string]int) {
			_, _ = sturdy.GetOrFetchBatch(context.Background(), keys, func(id string) string { return id }, func(_ context.Context, missing []string) (map[string]int, error) { return fetch(missing), nil })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var running sync.WaitGroup
			fetching, goOn, asked := make(chan struct{}), make(chan struct{}), make(chan []string, 1)
			running.Go(func() { c.take(func() int { close(fetching); <-goOn; return 1 }) })
			<-fetching
			running.Go(func() {
				c.many([]string{"k", "other"}, func(missing []string) map[string]int {
					asked <- missing
					values := map[string]int{}
					for _, key := range missing {
						values[key] = 2
					}
					return values
				})
			})
			if got := len(<-asked) == 2; got != c.twice {
				t.Errorf("the fetch of many was asked for the key that is being fetched: %t, want %t", got, c.twice)
			}
			close(goOn)
			running.Wait()
		})
	}
}

// TestTTLCacheLoadsTwice has a Get fetch, between the moment when another has not found the key
// and that when its loader begins.
//
// Shows: ttlcache's SuppressedLoader does not look again.
func TestTTLCacheLoadsTwice(t *testing.T) {
	c, fetches := ttlcache.New[string, int](), 0
	once := ttlcache.NewSuppressedLoader(ttlcache.LoaderFunc[string, int](func(c *ttlcache.Cache[string, int], key string) *ttlcache.Item[string, int] {
		fetches++
		return c.Set(key, fetches, ttlcache.DefaultTTL)
	}), new(singleflight.Group))
	late := ttlcache.LoaderFunc[string, int](func(c *ttlcache.Cache[string, int], key string) *ttlcache.Item[string, int] {
		c.Get(key, ttlcache.WithLoader[string, int](once))
		return once.Load(c, key)
	})
	c.Get("k", ttlcache.WithLoader[string, int](late))
	if fetches != 2 {
		t.Errorf("%d fetches: ttlcache looks again", fetches)
	}
}

// TestTheineLoadsTwice has two goroutines get a key that is not there, until both load it: no
// function of the user runs between the steps.
//
// Shows: theine does not look again when it has got the shard's lock.
func TestTheineLoadsTwice(t *testing.T) {
	var loads atomic.Int64
	c, err := theine.NewBuilder[int, int](1000).BuildWithLoader(func(context.Context, int) (theine.Loaded[int], error) {
		loads.Add(1)
		return theine.Loaded[int]{Value: 1, Cost: 1}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		c.Delete(0)
		loads.Store(0)
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() { _, _ = c.Get(context.Background(), 0) })
		}
		running.Wait()
		if loads.Load() == 2 {
			return
		}
	}
	t.Error("in a minute theine has not loaded a key twice")
}

// TestOtterLoadsBesideSet takes a key while a Set, which has ended the load of another Take, is
// about to store its value. A function of the user stops it there, as the key has expired.
//
// Shows: otter loads once more, and each Take gets what was set. That is no fault: otter says
// that a write during a load may have the loader called again.
func TestOtterLoadsBesideSet(t *testing.T) {
	setting, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	l := otterWith(otter.Options[string, int]{
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, int]) time.Duration {
			if e.Value == before {
				return time.Millisecond
			}
			return time.Hour
		}),
		OnAtomicDeletion: func(otter.DeletionEvent[string, int]) { close(setting); <-goOn },
	})
	l.set(before)
	wait(func() bool { _, ok := l.get(); return !ok })
	endFirst := l.begin(t, again)
	go func() { l.set(after); close(done) }()
	<-setting
	endSecond := l.begin(t, again)
	close(goOn)
	<-done
	first, second := endFirst(), endSecond()
	if got, ok := l.get(); first != after || second != after || !ok || got != after {
		t.Errorf("the Takes got %d and %d, and Get %d, %t; want what was set, %d", first, second, got, ok, after)
	}
}

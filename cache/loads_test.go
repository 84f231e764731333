package cache_test

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A taker is one of the Takes, of one key.
type taker[K comparable, V any] func(ctx context.Context, c *cache.Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error)

// takers returns all of them, by name.
func takers[K comparable, V any]() map[string]taker[K, V] {
	return map[string]taker[K, V]{
		"Take": func(ctx context.Context, c *cache.Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error) {
			return c.Take(key, func() (V, error) { return fetch(ctx) })
		},
		"TakeCtx": func(ctx context.Context, c *cache.Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error) {
			return c.TakeCtx(ctx, key, fetch)
		},
		"TakeWith": func(ctx context.Context, c *cache.Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error) {
			return c.TakeWith(ctx, key, func(ctx context.Context, _ *cache.Load[V]) (V, error) { return fetch(ctx) })
		},
		"TakeMany": func(ctx context.Context, c *cache.Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error) {
			got, err := c.TakeMany(ctx, []K{key}, func(ctx context.Context, _ []K) (map[K]V, error) {
				v, err := fetch(ctx)
				return map[K]V{key: v}, err
			})
			return got[key], err
		},
	}
}

// TestOneLoadPerVersion checks that there is one load of a key for each of its versions, which begins
// at once beside those of before, whichever ends first, that each has its own callers only, also when
// its shard is divided, and that only the last is stored.
func TestOneLoadPerVersion(t *testing.T) {
	const versions = 5
	changes := [versions - 1]func(c *cache.Cache[int, int]){
		func(c *cache.Cache[int, int]) { c.Del(1) },
		func(c *cache.Cache[int, int]) { c.SetWithExpire(1, 5, time.Second); time.Sleep(2 * time.Second) },
		func(c *cache.Cache[int, int]) { c.Clear() },
		func(c *cache.Cache[int, int]) {
			c.Compute(1, func(int, bool) (int, cache.Op) { return 0, cache.OpDelete })
		},
	}
	for name, take := range takers[int, int]() {
		for _, slowest := range []int{0, versions - 1, 1} { // the oldest, the newest, or one between ends last
			synctest.Test(t, func(t *testing.T) {
				c := cache.Must(cache.Options[int, int]{})
				fetched := 0
				took := func(version int) time.Duration {
					return time.Minute + time.Duration((version+versions-1-slowest)%versions)*time.Minute
				}
				var calls sync.WaitGroup
				for version := range versions {
					for n := range 3 {
						if n == 2 {
							c.SplitInto(2)
						}
						calls.Go(func() {
							v, err := take(t.Context(), c, 1, func(context.Context) (int, error) {
								fetched++
								time.Sleep(took(version))
								return version, nil
							})
							if v != version || err != nil {
								t.Errorf("%s: a caller of version %d got %d, %v", name, version, v, err)
							}
						})
						synctest.Wait()
					}
					if st := c.Stats().Loads; fetched != version+1 || st.Running != version+1 {
						t.Errorf("%s: version %d: %d fetches, %d run", name, version, fetched, st.Running)
					}
					if version < versions-1 {
						changes[version](c)
					}
				}
				calls.Wait()
				if v, ok := c.Peek(1); v != versions-1 || !ok {
					t.Errorf("Peek = %d, %v", v, ok)
				}
				cache.WantWhole(t, c)
			})
		}
	}
}

// TestRenewalBesideAnOldOne checks that a value stored during a renewal is renewed when it
// is due, beside that renewal, and that the old one does not have it renewed twice.
func TestRenewalBesideAnOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Expire: time.Hour, Refresh: 0.5})
		renewals := 0
		take := func(want int, d time.Duration) {
			t.Helper()
			v, err := c.TakeCtx(t.Context(), 1, func(context.Context) (int, error) {
				renewals++
				n := renewals
				time.Sleep(d)
				return 10 * n, nil
			})
			if v != want || err != nil {
				t.Errorf("TakeCtx = %d, %v, want %d", v, err, want)
			}
			synctest.Wait()
		}
		c.Set(1, 1)
		time.Sleep(45 * time.Minute)
		take(1, 50*time.Minute)
		c.Set(1, 2)
		time.Sleep(45 * time.Minute)
		take(2, 10*time.Minute) // beside the first
		if renewals != 2 {
			t.Errorf("%d renewals beside the first, want 2", renewals)
		}
		time.Sleep(6 * time.Minute) // the first ends
		take(2, time.Minute)        // the second is under way
		time.Sleep(5 * time.Minute) // it ends
		take(20, time.Minute)       // not due yet
		if renewals != 2 {
			t.Errorf("%d renewals, want 2", renewals)
		}
		if r := c.Stats().Loads.Refreshes; r.OK != 1 || r.Dropped != 1 || r.Skipped != 0 {
			t.Errorf("refreshes: %+v", r)
		}
	})
}

// TestFetchThatLeavesItsThreadLocked checks that such a thread, which may have another user or network
// by then, runs no later load.
func TestFetchThatLeavesItsThreadLocked(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{Limit: 10})
	defer cache.MustClose(t, c)
	ctx, cancel := context.WithCancel(t.Context()) // it can end, so loads have goroutines of their own
	defer cancel()
	fetched := 0
	for key := range 20 {
		_, _ = c.TakeCtx(ctx, key, func(context.Context) (int, error) {
			stack := make([]byte, 100)
			if header, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte("\n")); bytes.Contains(header, []byte("locked to thread")) {
				t.Errorf("load %d is %s", key, header)
			}
			runtime.LockOSThread()
			fetched++
			return 1, nil
		})
	}
	if fetched != 20 {
		t.Errorf("%d fetches", fetched)
	}
}

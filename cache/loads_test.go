package cache

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A taker is one of the Takes, of one key.
type taker[K comparable, V any] func(ctx context.Context, c *Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error)

// takers returns all of them, by name.
func takers[K comparable, V any]() map[string]taker[K, V] {
	return map[string]taker[K, V]{
		"Take": func(ctx context.Context, c *Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error) {
			return c.Take(key, func() (V, error) { return fetch(ctx) })
		},
		"TakeCtx": func(ctx context.Context, c *Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error) {
			return c.TakeCtx(ctx, key, fetch)
		},
		"TakeWith": func(ctx context.Context, c *Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error) {
			return c.TakeWith(ctx, key, func(ctx context.Context, _ *Load[V]) (V, error) { return fetch(ctx) })
		},
		"TakeMany": func(ctx context.Context, c *Cache[K, V], key K, fetch func(context.Context) (V, error)) (V, error) {
			got, err := c.TakeMany(ctx, []K{key}, func(ctx context.Context, _ []K) (map[K]V, error) {
				v, err := fetch(ctx)
				return map[K]V{key: v}, err
			})
			return got[key], err
		},
	}
}

// TestOneLoadPerVersion checks that there is one load of a key for each of its versions, which begins
// at once beside those of before, whichever ends first, that each has its own callers only, and that
// only the last is stored.
func TestOneLoadPerVersion(t *testing.T) {
	const versions = 5
	changes := [versions - 1]func(c *Cache[int, int]){
		func(c *Cache[int, int]) { c.Del(1) },
		func(c *Cache[int, int]) { c.SetWithExpire(1, 5, time.Second); time.Sleep(2 * time.Second) },
		func(c *Cache[int, int]) { c.Clear() },
		func(c *Cache[int, int]) { c.Compute(1, func(int, bool) (int, Op) { return 0, OpDelete }) },
	}
	for name, take := range takers[int, int]() {
		for _, slowest := range []int{0, versions - 1, 1} { // the oldest, the newest, or one between ends last
			synctest.Test(t, func(t *testing.T) {
				c := Must(Options[int, int]{})
				fetched := 0
				took := func(version int) time.Duration {
					return time.Minute + time.Duration((version+versions-1-slowest)%versions)*time.Minute
				}
				var calls sync.WaitGroup
				for version := range versions {
					for range 3 {
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
				wantWhole(t, c)
			})
		}
	}
}

// TestManyLoads checks that the lists of many loads stay short, that the newest load of a key stays
// that when there are more lists or fewer, and that none is lost.
func TestManyLoads(t *testing.T) {
	const n = 1000
	c := Must(Options[int, int]{Limit: 1})
	s := &c.common.table.Load().shards[0]
	begin := func(k int) *load[int, int] {
		_, l, err := c.join(k, aPlainTake(), nil)
		if err != nil {
			t.Fatal(err)
		}
		l.err = ErrGoexit
		return l
	}
	var old, now [n]*load[int, int]
	for k := range n {
		old[k] = begin(k)
		c.Del(k)
		now[k] = begin(k)
	}
	if lists := len(s.pending.loads.lists); lists < 2*n/3 || lists > 3*2*n {
		t.Errorf("%d lists of %d loads", lists, 2*n)
	}
	for k := range n {
		if h := now[k].hash; s.pending.newest(h, k) != now[k] {
			t.Fatalf("key %d: the newest load is another", k)
		}
		first, second := old[k], now[k]
		if k%2 == 0 {
			first, second = second, first
		}
		c.concludeAll(first)
		if s.pending.newest(second.hash, k) != second {
			t.Fatalf("key %d: the load that goes on is lost", k)
		}
		if k == n-1 && len(s.pending.loads.lists) != fewLists {
			t.Errorf("%d lists of one load", len(s.pending.loads.lists))
		}
		c.concludeAll(second)
	}
	wantWhole(t, c)
}

// TestCloseWaitsForOvertakenLoads checks that Close waits for loads whose key was changed,
// and ends the context of one in the background.
func TestCloseWaitsForOvertakenLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Hour, Refresh: 1e-9})
		c.Set(1, 1)
		time.Sleep(time.Second)
		_, _ = c.TakeCtx(t.Context(), 1, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			time.Sleep(time.Minute)
			return 0, ctx.Err()
		})
		c.Del(1)
		go c.Take(1, func() (int, error) { time.Sleep(time.Second); return 2, nil })
		synctest.Wait()
		began := time.Now()
		if err := c.Close(t.Context()); err != nil || time.Since(began) != time.Minute {
			t.Errorf("Close returned %v after %v, want the minute of the old load", err, time.Since(began))
		}
	})
}

// TestRenewalBesideAnOldOne checks that a value stored during a renewal is renewed when it
// is due, beside that renewal, and that the old one does not have it renewed twice.
func TestRenewalBesideAnOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Hour, Refresh: 0.5})
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

// TestDividedShardKeepsOldLoads checks that loads of all versions move with their key, and that
// who waits for one gets its result.
func TestDividedShardKeepsOldLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{})
		var calls sync.WaitGroup
		for version := range 3 {
			for range 2 { // who leads, and who joins
				calls.Go(func() {
					if v, err := c.Take(-1, func() (int, error) { time.Sleep(time.Hour); return version, nil }); v != version || err != nil {
						t.Errorf("a caller of version %d got %d, %v", version, v, err)
					}
				})
				synctest.Wait()
			}
			if version < 2 {
				c.Del(-1)
			}
		}
		for k := range 100 * crowded {
			c.Set(k, k)
		}
		if len(c.allShards()) == 1 {
			t.Fatal("the shard was not divided")
		}
		calls.Go(func() {
			if v, err := c.Take(-1, func() (int, error) { return -1, nil }); v != 2 || err != nil {
				t.Errorf("a caller after the division got %d, %v", v, err)
			}
		})
		synctest.Wait()
		if n := c.Stats().Loads.Running; n != 3 {
			t.Errorf("%d loads run, want 3", n)
		}
		calls.Wait()
		if v, ok := c.Peek(-1); v != 2 || !ok {
			t.Errorf("Peek = %d, %v", v, ok)
		}
		wantWhole(t, c)
	})
}

// TestTakeManyOfAKeyThatCannotBeHashed checks that the panic leaves no value behind that is
// due and never renewed.
func TestTakeManyOfAKeyThatCannotBeHashed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[any, int]{Expire: time.Hour, Refresh: 0.5})
		c.Set(1, 1)
		time.Sleep(45 * time.Minute)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_, _ = c.TakeMany(t.Context(), []any{1, []int{2}}, func(context.Context, []any) (map[any]int, error) {
				t.Error("fetched")
				return nil, nil
			})
		}()
		_, _ = c.TakeCtx(t.Context(), 1, func(context.Context) (int, error) { return 2, nil })
		synctest.Wait()
		if v, _ := c.Peek(1); v != 2 {
			t.Error("the value that was due is not renewed")
		}
	})
}

// TestSetThatEvictsBeatsALoad: in a full cache a Set during a load wins, too.
func TestSetThatEvictsBeatsALoad(t *testing.T) {
	c := Must(Options[int, int]{Limit: 1})
	c.Set(1, 1)
	if v, err := c.Take(2, func() (int, error) { c.Set(2, 20); return 2, nil }); v != 2 || err != nil {
		t.Errorf("Take = %d, %v", v, err)
	}
	if v, ok := c.Get(2); v != 20 || !ok {
		t.Errorf("Get = %d, %t after a Set of 20 during a load of 2", v, ok)
	}
}

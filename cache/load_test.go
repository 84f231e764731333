package cache

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestExpiresWhileACallerIsAssigned checks that, in a cache without Grace, a value that
// expires between two looks of a caller is not taken for one in Grace.
func TestExpiresWhileACallerIsAssigned(t *testing.T) {
	c := Must(Options[int, int]{Expire: time.Minute})
	for n := range 20_000 {
		c.Set(1, 1)
		var at look[int, int]
		at.seek(&c.common, 1)
		at.entries[at.slot].deadline.Set(c.common.time.clock.Now() + int64(n%300))
		var a assignment[int, int]
		if at.assign(&a, aPlainTake(), nil); a.inGrace {
			t.Error("a value is in Grace")
		}
		at.pending.loads, at.pending.loading = nil, 0
		at.lock.Unlock()
	}
}

// TestManyLoads checks that the lists of many loads stay short, that the newest load of a key stays
// that when there are more lists or fewer, and that none is lost.
func TestManyLoads(t *testing.T) {
	const n = 1000
	c := Must(Options[int, int]{Limit: 1})
	s := &c.common.table.Load().shards[0]
	begin := func(k int) *load[int, int] {
		_, l, err := c.join(k, aPlainTake(), nil, nil)
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
		for k := range 100 * divideAt {
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

// TestDelFuncBesideHungLoads checks that loads that hang keep a bounded number of functions,
// and that one that would have to ask more is not stored.
func TestDelFuncBesideHungLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{})
		var calls sync.WaitGroup
		take := func(key int) {
			calls.Go(func() {
				if v, err := c.Take(key, func() (int, error) { time.Sleep(time.Hour); return key, nil }); v != key || err != nil {
					t.Errorf("Take = %d, %v", v, err)
				}
			})
		}
		take(1)
		synctest.Wait()
		asked := 0
		for n := range 10 * maxFilters {
			if n == 9*maxFilters {
				take(2)
				synctest.Wait()
			}
			c.DelFunc(func(int, int) bool { asked++; return false })
		}
		shards := c.allShards()
		for i := range shards {
			s := &shards[i]
			s.lock.Lock()
			for l := range s.pending.all() {
				if n := cap(l.filters); n > maxFilters {
					t.Errorf("the load of %d holds %d functions", l.key, n)
				}
			}
			s.lock.Unlock()
		}
		calls.Wait()
		_, first := c.Peek(1)
		_, second := c.Peek(2)
		if asked != maxFilters || first || !second {
			t.Errorf("%d functions were asked; stored: %v, %v", asked, first, second)
		}
	})
}

// TestTakeManyOverlap checks that two calls that each wait for a key of the other do not
// deadlock, as each ends its own loads first.
func TestTakeManyOverlap(t *testing.T) {
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		c := Must(Options[int, int]{})
		c.allShards()
		var mu sync.Mutex
		fetched := map[int]int{}
		fetch := func(_ context.Context, keys []int) (map[int]int, error) {
			values := map[int]int{}
			mu.Lock()
			for _, key := range keys {
				fetched[key]++
				values[key] = 10 * key
			}
			mu.Unlock()
			time.Sleep(time.Second) // meanwhile the first call goes on
			return values, nil
		}
		keys := []int{0} // in three shards
		for key := 1; len(keys) < 3; key++ {
			if !slices.ContainsFunc(keys, func(other int) bool {
				return c.common.shardOf(c.common.hasher.Hash(key)) == c.common.shardOf(c.common.hasher.Hash(other))
			}) {
				keys = append(keys, key)
			}
		}
		var calls sync.WaitGroup
		call := func(ctx context.Context, keys ...int) {
			calls.Go(func() {
				if got, err := c.TakeMany(ctx, keys, fetch); err != nil || len(got) != len(keys) {
					t.Errorf("TakeMany(%v) = %v, %v", keys, got, err)
				}
			})
		}
		// The first call leads the load of one key, and is held up at the next until the
		// second call leads that of the third key and waits for that of the first.
		var between *shard[int, int]
		call(ErrHook{ctx, sync.OnceFunc(func() { between = c.common.lock(c.common.hasher.Hash(keys[1])) })}, keys...)
		for leads := false; !leads; runtime.Gosched() {
			s := c.common.lock(c.common.hasher.Hash(keys[0]))
			leads = s.pending.loading > 0
			s.lock.Unlock()
		}
		call(ctx, keys[2], keys[0])
		for c.common.loads.waiters.Load() == 0 {
			runtime.Gosched()
		}
		between.lock.Unlock()
		calls.Wait()
		if n := c.Stats().Loads.Waiters; n != 2 || len(fetched) != 3 || slices.Max(slices.Collect(maps.Values(fetched))) != 1 {
			t.Errorf("fetched %v, want each once, and %d waited", fetched, n)
		}
		wantWhole(t, c)
	}
}

package cache

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestTableGrows checks that a cache has one shard until that is crowded, and then as many
// as it needs; one with a small limit keeps one until the limit is raised.
func TestTableGrows(t *testing.T) {
	perShard := int(entriesPerShard(runtime.GOMAXPROCS(0)))
	shards := func(c *Cache[int, int]) int { return len(c.common.table.Load().shards) }
	fill := func(c *Cache[int, int], n int) {
		for k := range n {
			c.Set(k, k)
		}
	}
	for _, limit := range []int{0, 2 * perShard, 1 << 20} {
		c := Must(Options[int, int]{Limit: limit})
		fill(c, divideAt)
		if n := shards(c); n != 1 {
			t.Errorf("limit %d: %d shards for few entries", limit, n)
		}
		fill(c, divideAt+1)
		if n, want := shards(c), min(c.common.size.wanted(), spread); n != want || n < 2 {
			t.Errorf("limit %d: %d shards for many entries, want %d", limit, n, want)
		}
		wantWhole(t, c)
	}
	c := Must(Options[int, int]{Limit: perShard})
	fill(c, perShard)
	if n := shards(c); n != 1 {
		t.Errorf("%d shards with a small limit", n)
	}
	if err := c.Resize(1 << 20); err != nil {
		t.Fatal(err)
	}
	fill(c, 1)
	if n, want := shards(c), min(c.common.size.wanted(), spread); n != want {
		t.Errorf("%d shards after a Resize, want %d", n, want)
	}
	if n := c.Len(); n != perShard {
		t.Errorf("%d of %d entries are left", n, perShard)
	}
	wantWhole(t, c)
}

// TestShardsForProcessors checks that more processors get more shards for the same limit, each
// with entries enough, and that nothing changes with one or two.
func TestShardsForProcessors(t *testing.T) {
	for _, test := range []struct{ limit, procs, want int }{
		{100_000, 1, 16}, {100_000, 2, 16}, {100_000, 4, 32}, {100_000, 8, 64}, {100_000, 16, 128}, {100_000, 128, 128},
		{1000, 128, 1}, {8191, 2, 1}, {8192, 2, 2}, {1 << 20, 2, 32}, {1 << 20, 64, 1024}, {0, 8, 128},
	} {
		got := shardCount(uint64(test.limit), entriesPerShard(test.procs), test.procs)
		if got != test.want {
			t.Errorf("limit %d, %d processors: %d shards, want %d", test.limit, test.procs, got, test.want)
		}
	}
}

// TestManyProcessors checks that with many processors the table grows in steps.
func TestManyProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64))
	c := Must(Options[int, int]{})
	steps := []int{1}
	for k := range 100_000 {
		c.Set(k, k)
		if n := len(c.common.table.Load().shards); n != steps[len(steps)-1] {
			steps = append(steps, n)
		}
	}
	if want := []int{1, 32, 1024}; !slices.Equal(steps, want) {
		t.Errorf("%v shards, want %v", steps, want)
	}
	if err := c.check(); err != nil || c.Len() != 100_000 {
		t.Errorf("%d entries, %v", c.Len(), err)
	}
}

// TestTableGrowsUnderContention checks that writers that wait for each other split a cache
// with few entries, and that writers that seldom wait do not.
func TestTableGrowsUnderContention(t *testing.T) {
	c := Must(Options[int, int]{})
	s := &c.common.table.Load().shards[0]
	waitOnce := func() {
		s.lock.Lock()
		done := make(chan struct{})
		go func() {
			c.Set(1, 1)
			close(done)
		}()
		for !isLockingIn(").lockGrowing(") {
			runtime.Gosched()
		}
		s.lock.Unlock()
		<-done
	}
	for range 2 * strained / waitStrain {
		waitOnce()
		for range waitStrain {
			c.Set(1, 1)
		}
	}
	if s.split {
		t.Error("the table has grown though writers seldom wait")
	}
	for range strained/waitStrain + 1 {
		if !s.split {
			waitOnce()
		}
	}
	if !s.split {
		t.Error("the table has not grown though all writers wait")
	}
}

// isLockingIn reports whether some goroutine waits for a mutex in a function.
func isLockingIn(function string) bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return slices.ContainsFunc(strings.Split(string(stacks), "\n\n"), func(one string) bool {
		return strings.Contains(one, " [sync.Mutex.Lock") && strings.Contains(one, function)
	})
}

// TestSplitKeepsOrder checks that a split keeps the order of eviction and the marks.
func TestSplitKeepsOrder(t *testing.T) {
	for _, policy := range []Policy{LRU, Adaptive} {
		c := Must(Options[int, int]{Limit: 100, Policy: policy})
		for k := range 300 {
			c.Set(k, k)
			for range k % 5 {
				c.Get(k - 50)
			}
		}
		type place struct {
			key  int
			heat uint8
		}
		order := func(s *shard[int, int], with func(int) bool) (places []place) {
			for i := range s.turn.order.All() {
				if key := s.entries[i].key; with(key) {
					places = append(places, place{key, s.turn.order.Heat(i)})
				}
			}
			return places
		}
		s := &c.common.table.Load().shards[0]
		numbers := map[int]int{}
		for i := range s.entries {
			if s.entries[i].live() {
				key := s.entries[i].key
				numbers[key] = int(c.common.hasher.Hash(key) >> 8 & 3)
			}
		}
		var want [4][]place
		for n := range want {
			want[n] = order(s, func(key int) bool { return numbers[key] == n })
		}
		c.splitInto(4)
		for n := range want {
			if got := order(&c.common.table.Load().shards[n], func(int) bool { return true }); !slices.Equal(got, want[n]) {
				t.Errorf("%v, shard %d: the order is %v, want %v", policy, n, got, want[n])
			}
		}
		if err := c.check(); err != nil {
			t.Errorf("%v: %v", policy, err)
		}
	}
}

// TestSplitBesideEverything runs all methods while the table grows again and again. A key
// has a value at most once, and its values only rise.
func TestSplitBesideEverything(t *testing.T) {
	const keys, rounds = 40, 30
	for range rounds {
		events := map[int][]int{}
		var mu sync.Mutex
		c := Must(Options[int, int]{Idle: time.Hour, OnRemove: func(e Event[int, int]) {
			mu.Lock()
			defer mu.Unlock()
			events[e.Key] = append(events[e.Key], e.Value)
		}})
		var all sync.WaitGroup
		increment := func(old int, _ bool) (int, Op) { return old + 1, OpSet }
		for g := range 4 {
			all.Go(func() {
				for i := range 200 {
					k := (i*7 + g) % keys
					c.Compute(k, increment)
					if _, ok := c.Get(k); !ok {
						t.Errorf("key %d is gone", k)
					}
					c.Touch(k, time.Hour)
					c.Take(k, func() (int, error) { t.Error("a key is gone"); return 0, nil })
				}
			})
		}
		all.Go(func() {
			for range 6 {
				c.splitInto(2)
				runtime.Gosched()
			}
		})
		all.Go(func() {
			for range 20 {
				last := map[int]bool{}
				for k := range c.All() {
					if last[k] {
						t.Errorf("key %d twice in a walk", k)
					}
					last[k] = true
				}
				c.Stats()
			}
		})
		all.Wait()
		wantWhole(t, c)
		mustClose(t, c)
		for k, values := range events {
			for i, v := range values {
				if v != i+1 {
					t.Fatalf("the values of key %d that were removed are %v", k, values)
				}
			}
		}
	}
}

// TestTickWhileAShardIsDivided checks that a tick leaves alone the shards to which entries
// are moving, though some of those have expired.
//
// Catches: shards of the larger table that are not locked until their entries are there.
func TestTickWhileAShardIsDivided(t *testing.T) {
	for range 30 {
		c := Must(Options[int, int]{Expire: minTTL})
		c.common.time.driver.working.Lock() // so that what has expired stays
		first := c.common.table.Load()
		for k := range divideAt {
			c.Set(k, k)
		}
		time.Sleep(3 * c.common.time.clock.PerTick)
		var began, done atomic.Bool
		var ticks sync.WaitGroup
		ticks.Go(func() {
			for ; !done.Load(); runtime.Gosched() {
				began.Store(true)
				if larger := first.larger.Load(); larger != nil {
					c.expireIn(larger)
				}
			}
		})
		for !began.Load() {
			runtime.Gosched()
		}
		c.Set(divideAt, 0)
		done.Store(true)
		ticks.Wait()
		c.common.time.driver.working.Unlock()
		if c.common.table.Load() == first {
			t.Fatal("the shard was not divided")
		}
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		mustClose(t, c)
	}
}

package cache

import (
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// divideSome has a table of n shards follow, and divides some of the shards it has.
func (c *Cache[K, V]) divideSome(n, some int) {
	c.common.shape.Lock()
	defer c.common.shape.Unlock()
	t := c.common.table.Load()
	t.larger.Store(c.common.newTable(n))
	t.growing.Store(true)
	for range some {
		c.common.divideNext(t)
	}
}

// divideHalf leaves a cache with half of its shards divided, unless it has very many.
func (c *Cache[K, V]) divideHalf() {
	if t := c.common.table.Load(); len(t.shards) < 64 && t.larger.Load() == nil {
		c.divideSome(2*len(t.shards), len(t.shards)/2)
	}
}

// TestWriteDividesOneShard: after a Resize, no write moves more than the entries of one
// shard, and each moves those of one until that is done.
func TestWriteDividesOneShard(t *testing.T) {
	c := Must(Options[int, int]{Limit: 4 * mostPerShard})
	for k := range 8 * mostPerShard {
		c.Set(k, k)
	}
	old := c.common.table.Load()
	if err := c.Resize(1 << 20); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(old.shards); n++ {
		if c.common.table.Load() != old {
			t.Fatalf("the table is replaced after %d writes, with %d shards", n-1, len(old.shards))
		}
		c.Set(-n, 0)
		if old.divided != n {
			t.Errorf("after %d writes %d shards are divided", n, old.divided)
		}
	}
	if c.common.table.Load() == old {
		t.Error("all shards are divided, and the table is still there")
	}
	wantWhole(t, c)
}

// TestShardsStaySmall: however many entries a cache has, a shard has at most fullShard or
// so. So arrays that are copied, or divided, in one hold of a lock are small.
func TestShardsStaySmall(t *testing.T) {
	for _, o := range []Options[int, int]{
		{},
		{MaxWeight: 1 << 30, Weigh: func(int, int) uint32 { return 1 }},
		{Limit: 10 * shardsPerProc * fullShard},
	} {
		c := Must(o)
		c.setShards(2)
		c.common.growOn()
		const n = 5 * fullShard
		for k := range n {
			c.Set(k, k)
		}
		if err := c.check(); err != nil || c.Len() != n {
			t.Errorf("limit %d: %d entries, %v", o.Limit, c.Len(), err)
		}
		for i := range c.common.table.Load().shards {
			if s := &c.common.table.Load().shards[i]; len(s.entries) > fullShard {
				t.Errorf("limit %d: shard %d of %d has %d slots", o.Limit, i, len(c.common.table.Load().shards), len(s.entries))
			}
		}
		if limit := o.Limit; limit > 0 && limit > c.common.size.wanted()*fullShard {
			t.Errorf("limit %d: %d shards are wanted", limit, c.common.size.wanted())
		}
	}
}

// TestShardsOfPointers: a large cache of what the collector follows has fewer shards, and larger
// ones.
func TestShardsOfPointers(t *testing.T) {
	const limit = 5_000_000
	procs := runtime.GOMAXPROCS(0)
	least := shardCount(limit, entriesPerShard(procs), procs)
	if n := wantedShards[uint64, [2]struct{ a complex128 }](limit); n != max(512, least) {
		t.Errorf("%d shards are wanted without pointers", n)
	}
	for name, n := range map[string]int{
		"pointer": wantedShards[uint64, *int](limit), "key": wantedShards[string, int](limit), "slice": wantedShards[int, []byte](limit),
		"array of structs": wantedShards[int, [1]struct{ a, b any }](limit),
	} {
		if n != max(enoughShards, least) {
			t.Errorf("%s: %d shards are wanted", name, n)
		}
	}
	if n := wantedShards[int, *int](1 << 27); n != 1<<27/(4*fullShard) {
		t.Errorf("%d shards are wanted for 1<<27 entries", n)
	}
	if a, b := wantedShards[int, *int](1<<20), wantedShards[int, [0]*int](1<<20); a != b {
		t.Errorf("%d shards are wanted for a million pointers, and %d for as many numbers", a, b)
	}
}

func wantedShards[K comparable, V any](limit int) int {
	return Must(Options[K, V]{Limit: limit}).common.size.wanted()
}

// TestWalksDivideNothing: a walk through the shards moves no entry. Otherwise Stats, which the page
// reads from outside, would set the timer of a cache in a bubble, and that ends the process.
func TestWalksDivideNothing(t *testing.T) {
	outside, done := make(chan func()), make(chan bool)
	defer close(outside)
	go func() {
		for f := range outside {
			f()
			done <- true
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Limit: 1 << 20, Expire: time.Minute})
		c.setShards(8)
		for k := range 100 {
			c.Set(k, k)
		}
		c.divideSome(32, 4)
		table := c.common.table.Load()
		noError := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		encode := func(dst []byte, _, _ int) ([]byte, error) { return dst, nil }
		for _, walk := range []func(){
			func() { _ = c.Stats() },
			func() { c.Len() },
			func() {
				for range c.All() {
					c.Stats() // a walk in a walk
				}
			},
			func() { c.DelFunc(func(k, _ int) bool { return k == 1 }) },
			func() { noError(c.Save(io.Discard, encode)) },
			func() { noError(c.Resize(1 << 21)) },
			func() { noError(c.Resize(10)) },
			c.Clear,
		} {
			outside <- walk
			<-done
			if c.common.table.Load() != table || table.divided != 4 {
				t.Fatal("a walk divides shards")
			}
			wantWhole(t, c)
		}
		noError(c.Resize(1 << 21))
		for k := range 64 {
			c.Set(k, k)
		}
		if now := c.common.table.Load(); now == table || !now.growing.Load() {
			t.Error("the larger table has not heard of a Resize to more")
		}
	})
}

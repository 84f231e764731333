package cache

import (
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
	if n := len(c.common.all()); n < 64 {
		c.common.release()
		c.divideSome(2*n, n/2)
		return
	}
	c.common.release()
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

// TestHalfDivided: while some shards are divided, every entry expires in time. TestModel does
// all else in such a cache.
func TestHalfDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 2000
		c := Must(Options[int, int]{Limit: 1 << 20, Expire: time.Minute})
		c.setShards(8)
		for k := range keys {
			c.Set(k, k)
		}
		c.divideSome(32, 4)
		c.SetWithExpire(keys, 0, time.Hour)
		time.Sleep(time.Minute + 2*c.common.time.tick)
		if n := c.Len(); n != 1 {
			t.Errorf("%d entries are left", n)
		}
	})
}

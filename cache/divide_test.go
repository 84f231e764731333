package cache

import (
	"testing"
	"testing/synctest"
	"time"
)

// divideSome has a table of n shards follow, and divides some of the shards it has.
func (c *Cache[K, V]) divideSome(n, some int) {
	c.shared.shape.Lock()
	defer c.shared.shape.Unlock()
	t := c.shared.table.Load()
	t.larger.Store(c.shared.newTable(n))
	t.growing.Store(true)
	for range some {
		c.shared.divideNext(t)
	}
}

// divideHalf leaves a cache with half of its shards divided, unless it has very many.
func (c *Cache[K, V]) divideHalf() {
	if n := len(c.shared.all()); n < 64 {
		c.shared.release()
		c.divideSome(2*n, n/2)
		return
	}
	c.shared.release()
}

// TestWriteDividesOneShard: after a Resize, no write moves more than the entries of one
// shard, and each moves those of one until that is done.
func TestWriteDividesOneShard(t *testing.T) {
	c := Must(Options[int, int]{Limit: 4 * mostPerShard})
	for k := range 8 * mostPerShard {
		c.Set(k, k)
	}
	old := c.shared.table.Load()
	if err := c.Resize(1 << 20); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(old.shards); n++ {
		if c.shared.table.Load() != old {
			t.Fatalf("the table is replaced after %d writes, with %d shards", n-1, len(old.shards))
		}
		c.Set(-n, 0)
		if old.divided != n {
			t.Errorf("after %d writes %d shards are divided", n, old.divided)
		}
	}
	if c.shared.table.Load() == old {
		t.Error("all shards are divided, and the table is still there")
	}
	if err := c.check(); err != nil {
		t.Error(err)
	}
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
		c.shared.growOn()
		const n = 5 * fullShard
		for k := range n {
			c.Set(k, k)
		}
		if err := c.check(); err != nil || c.Len() != n {
			t.Errorf("limit %d: %d entries, %v", o.Limit, c.Len(), err)
		}
		for i := range c.shared.table.Load().shards {
			if s := &c.shared.table.Load().shards[i]; len(s.entries) > fullShard {
				t.Errorf("limit %d: shard %d of %d has %d slots", o.Limit, i, len(c.shared.table.Load().shards), len(s.entries))
			}
		}
		if limit := o.Limit; limit > 0 && limit > c.shared.sizing.wanted()*fullShard {
			t.Errorf("limit %d: %d shards are wanted", limit, c.shared.sizing.wanted())
		}
	}
}

// TestHalfDivided: while some shards are divided, every entry is found, expires in time and
// can be changed, and a walk sees each once.
func TestHalfDivided(t *testing.T) {
	const keys = 2000
	half := func(expire time.Duration) *Cache[int, int] {
		c := Must(Options[int, int]{Limit: 1 << 20, Expire: expire})
		c.setShards(8)
		for k := range keys {
			c.Set(k, k)
		}
		c.divideSome(32, 4)
		return c
	}
	t.Run("Get", func(t *testing.T) {
		c := half(0)
		for k := range keys {
			if v, ok := c.Get(k); !ok || v != k {
				t.Fatalf("Get(%d) = %d, %v", k, v, ok)
			}
		}
		if c.shared.table.Load().divided != 4 {
			t.Error("a Get divides")
		}
	})
	t.Run("change", func(t *testing.T) {
		c := half(0)
		c.shared.shape.RLock() // so that it stays as it is
		for k := range keys {
			c.Set(k, -k)
			if k%2 == 0 && !c.Del(k) {
				t.Errorf("key %d is gone", k)
			}
		}
		c.shared.shape.RUnlock()
		if n := c.shared.table.Load().divided; n != 4 || c.Len() != keys/2 {
			t.Errorf("%d shards are divided, and %d entries left", n, c.Len())
		}
		for k := range keys {
			if v, ok := c.Peek(k); ok != (k%2 == 1) || ok && v != -k {
				t.Errorf("key %d has %d, %v", k, v, ok)
			}
		}
	})
	t.Run("walk", func(t *testing.T) {
		c := half(0)
		seen := map[int]bool{}
		for k := range c.All() {
			if seen[k] {
				t.Errorf("key %d twice", k)
			}
			seen[k] = true
		}
		if len(seen) != keys || len(c.shared.table.Load().shards) != 32 {
			t.Errorf("%d keys seen, and %d shards", len(seen), len(c.shared.table.Load().shards))
		}
	})
	t.Run("expiry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := half(time.Minute)
			c.SetWithExpire(keys, 0, time.Hour)
			time.Sleep(time.Minute + 2*c.shared.timing.tick)
			if n := c.Len(); n != 1 {
				t.Errorf("%d entries are left", n)
			}
		})
	})
	t.Run("limit", func(t *testing.T) {
		c := half(0)
		if err := c.Resize(10); err != nil || c.Len() != 10 {
			t.Errorf("%d entries, %v", c.Len(), err)
		}
		if err := c.check(); err != nil {
			t.Error(err)
		}
	})
}

package cache

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func slotsOf[K comparable, V any](c *Cache[K, V]) (n int) {
	for i := range c.common.table.Load().shards {
		n += len(c.common.table.Load().shards[i].entries)
	}
	return n
}

// TestWalksGiveMemoryBack checks that memory is freed after a loop over all entries whose
// body removes them, by Del or Clear, or that is left early, and after DelFunc.
func TestWalksGiveMemoryBack(t *testing.T) {
	for name, walk := range map[string]func(*Cache[int, int]){
		"Del": func(c *Cache[int, int]) {
			for k := range c.All() {
				c.Del(k)
			}
		},
		"Clear": func(c *Cache[int, int]) {
			for range c.All() {
				c.Clear()
			}
		},
		"DelFunc": func(c *Cache[int, int]) { c.DelFunc(func(int, int) bool { return true }) },
		"left early": func(c *Cache[int, int]) {
			for range c.All() {
				break
			}
			for k := range 50_000 {
				c.Del(k)
			}
		},
	} {
		c := Must(Options[int, int]{})
		for k := range 50_000 {
			c.Set(k, k)
		}
		walk(c)
		if c.Len() != 0 || slotsOf(c) > minSlots*len(c.common.table.Load().shards) {
			t.Errorf("%s: %d entries are left in %d slots", name, c.Len(), slotsOf(c))
		}
		if err := c.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShardsAreDividedDuringWalks checks that a cache grows while a walk calls functions of the user,
// which is all the same right: it has each entry that stays once, as it is by then, though its deadline
// of before has passed.
func TestShardsAreDividedDuringWalks(t *testing.T) {
	const change, leave = 80, 160 // keys below change are kept, those below leave replaced, and others removed
	walks := map[string]func(c *Cache[int, int], see func(k, v int)){
		"All": func(c *Cache[int, int], see func(k, v int)) {
			for k, v := range c.All() {
				if see(k, v); v != c.value(k) {
					t.Errorf("All: key %d has value %d, want %v", k, v, c.value(k))
				}
			}
		},
		"DelFunc": func(c *Cache[int, int], see func(k, v int)) {
			if n := c.DelFunc(func(k, v int) bool { see(k, v); return k < change }); n != change {
				t.Errorf("DelFunc has removed %d, want %d", n, change)
			}
		},
		"Save": func(c *Cache[int, int], see func(k, v int)) {
			if err := c.Save(io.Discard, func(dst []byte, k, v int) ([]byte, error) { see(k, v); return dst, nil }); err != nil {
				t.Error(err)
			}
		},
	}
	for name, o := range map[string]Options[int, int]{
		"no limit": {Expire: time.Minute},
		"LRU":      {Limit: 1 << 20, Idle: time.Minute},
		"Adaptive": {Limit: 1 << 20, Policy: Adaptive, Expire: time.Minute, Idle: time.Minute},
	} {
		for walk, run := range walks {
			for _, divided := range []bool{false, true} { // of one shard, and of many of which half are divided
				t.Run(fmt.Sprint(name, "/", walk, "/", divided), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := Must(o)
						defer mustClose(t, c)
						n := divideAt - 10
						if divided {
							n = 10 * divideAt
						}
						for k := range n {
							c.Set(k, 0)
						}
						first := c.common.table.Load()
						seen := map[int]int{}
						began := false
						run(c, func(k, v int) {
							seen[k]++
							if began {
								return
							}
							began = true
							if divided {
								c.divideHalf() // the next writes would divide the others
							} else {
								c.changeAndWait(change, leave)
							}
						})
						for k := range leave {
							if n := seen[k]; n != 1 && (n != 2 || walk != "DelFunc") { // which asks again about what was changed
								t.Errorf("key %d was seen %d times", k, n)
							}
						}
						if divided {
							wantWhole(t, c)
							return
						}
						if c.common.table.Load() == first || first.shards[0].entries != nil || first.shards[0].turn.order != nil {
							t.Errorf("%d shards, and the first one has kept %d slots", len(c.common.table.Load().shards), len(first.shards[0].entries))
						}
						wantWhole(t, c)
					})
				})
			}
		}
	}
}

// changeAndWait adds keys, so that shards are divided, replaces and removes some, and waits until all
// deadlines of before have passed, while it uses the others.
func (c *Cache[K, V]) changeAndWait(change, leave int) {
	ints := any(c).(*Cache[int, int])
	for k := range 10 * divideAt {
		ints.Set(divideAt+k, 0)
	}
	for k := change; k < leave; k++ {
		ints.Set(k, 1)
	}
	for k := leave; k < divideAt; k++ {
		ints.Del(k)
	}
	for range 6 {
		time.Sleep(30 * time.Second)
		for k := range leave {
			ints.Get(k)
			ints.Touch(k, time.Minute)
		}
	}
}

// TestWalkThatEndsAsAShardIsDivided checks that a walk that ends leaves another one the entries of a
// shard that was divided meanwhile.
func TestWalkThatEndsAsAShardIsDivided(t *testing.T) {
	c := Must(Options[int, int]{})
	for k := range 100 {
		c.Set(k, k)
	}
	s, seen := &c.common.table.Load().shards[0], 0
	for range c.All() {
		if seen++; seen == 1 {
			c.divideSome(2, 1)
			s.unpinned() // by a walk whose unpin began before this one
		}
	}
	if seen != 100 {
		t.Errorf("%d of 100 entries were seen", seen)
	}
}

// value returns the value of a key, or -1.
func (c *Cache[K, V]) value(key K) any {
	if v, ok := c.Peek(key); ok {
		return v
	}
	return -1
}

// TestAllStopsAtDeadlines checks that All yields no value after its deadline, also if that
// passes while the body of the loop runs.
func TestAllStopsAtDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: 50 * time.Millisecond})
		for k := range 60 {
			c.Set(k, k)
		}
		began, seen := time.Now(), 0
		for range c.All() {
			if got := time.Since(began); got >= 50*time.Millisecond {
				t.Errorf("a value was yielded after %v", got)
			}
			seen++
			time.Sleep(10 * time.Millisecond)
		}
		if seen != 5 {
			t.Errorf("%d values were yielded, want 5", seen)
		}
	})
}

// TestAllSeesChangesInItsBody checks that All does not yield what the body of the loop has
// removed, and yields a new value.
func TestAllSeesChangesInItsBody(t *testing.T) {
	c := Must(Options[int, int]{Limit: 100})
	for k := range 60 {
		c.Set(k, 0)
	}
	seen := 0
	for k, v := range c.All() {
		if seen++; seen == 1 {
			for other := range 60 {
				if other%2 == 0 && other != k {
					c.Del(other)
				} else {
					c.Set(other, 1)
				}
			}
		} else if now, ok := c.Peek(k); !ok || v != now {
			t.Errorf("value %d of key %d was yielded, and the cache has %d, %t", v, k, now, ok)
		}
	}
	if n := c.Len(); seen != n {
		t.Errorf("%d entries were yielded of %d", seen, n)
	}
}

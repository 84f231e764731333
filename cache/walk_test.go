package cache

import (
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
// body removes them, by Del or Clear, or that is left early.
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
	for range c.All() {
		if seen++; seen == 10 {
			c.Clear()
			c.Set(0, 0) // which may be yielded
		}
	}
	if seen > 11 || c.Len() != 1 {
		t.Errorf("%d entries were yielded, of 10 until a Clear, and %d are left", seen, c.Len())
	}
	for k := range 60 {
		c.Set(k, 0)
	}
	seen = 0
	for _, v := range c.All() {
		if seen++; seen == 1 {
			for k := range 60 {
				c.Set(k, 1)
			}
		} else if v != 1 {
			t.Errorf("value %d was yielded after it was replaced", v)
		}
	}
	if seen != 60 {
		t.Errorf("%d entries were yielded of 60", seen)
	}
}

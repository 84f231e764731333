package cache

import (
	"math"
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

// TestTTLAndEntries checks the times left by TTL, Entry and Entries, with and without
// Idle.
func TestTTLAndEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{Expire: time.Hour})
		c.Set("hour", 1)
		c.SetWithExpire("ever", 2, 0)
		c.SetWithExpire("minute", 3, time.Minute)
		time.Sleep(20 * time.Second)
		want := map[string]time.Duration{"hour": time.Hour - 20*time.Second, "ever": math.MaxInt64, "minute": 40 * time.Second}
		for k, left := range want {
			if got, ok := c.TTL(k); got != left || !ok {
				t.Errorf("TTL(%q) = %v, %v; want %v", k, got, ok, left)
			}
		}
		for e := range c.Entries() {
			if got, ok := c.Entry(e.Key); got != e || !ok || e.TTL != want[e.Key] {
				t.Errorf("Entries has %+v, Entry %+v, %v", e, got, ok)
			}
		}
		time.Sleep(40 * time.Second)
		if got, ok := c.TTL("minute"); got != 0 || ok {
			t.Errorf("TTL after the deadline = %v, %v", got, ok)
		}
		if s := c.Stats(); s.Hits+s.Misses != 0 {
			t.Errorf("%d hits, %d misses were counted", s.Hits, s.Misses)
		}

		idle := Must(Options[string, int]{Expire: time.Hour, Idle: time.Minute})
		idle.Set("a", 1)
		time.Sleep(30 * time.Second)
		if got, _ := idle.TTL("a"); got != 30*time.Second {
			t.Errorf("TTL with Idle = %v", got)
		}
		idle.Get("a")
		if got, _ := idle.TTL("a"); got != time.Minute {
			t.Errorf("TTL with Idle after a Get = %v", got)
		}
	})
}

// TestDelExpired checks that DelExpired removes and counts what the wheel has not visited
// yet.
func TestDelExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := map[Cause]int{}
		c := Must(Options[int, int]{Expire: time.Hour, Workers: 1, OnRemove: func(e Event[int, int]) { causes[e.Cause]++ }})
		for k := range 300 {
			c.SetWithExpire(k, k, time.Millisecond)
			c.Set(1000+k, k)
		}
		time.Sleep(2 * time.Millisecond)
		if n := c.DelExpired(); n != 300 || c.Len() != 300 {
			t.Errorf("DelExpired removed %d, and %d are left", n, c.Len())
		}
		if n := c.DelExpired(); n != 0 {
			t.Errorf("then it removed %d", n)
		}
		if err := c.Wait(t.Context()); err != nil || causes[Expired] != 300 || len(causes) != 1 {
			t.Errorf("OnRemove was told %v, %v", causes, err)
		}
		wantWhole(t, c)
	})
}

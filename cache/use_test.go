package cache

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTouchIsUse: it keeps an entry from eviction, whether or not it has to move the
// task of the entry.
func TestTouchIsUse(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"task moved": 0, "task left alone": time.Hour} {
		c := Must(Options[int, int]{Limit: 2})
		c.SetWithExpire(1, 1, ttl)
		c.Set(2, 2)
		if !c.Touch(1, 2*time.Hour) {
			t.Fatalf("%s: not found", name)
		}
		c.Set(3, 3)
		if _, ok := c.Peek(1); !ok {
			t.Errorf("%s: an entry was touched, and evicted next", name)
		}
	}
}

// TestShrinksAfterAll: a walk keeps entries in their slots until it ends, and not
// longer, also if the loop is left.
func TestShrinksAfterAll(t *testing.T) {
	const n = 1000
	c := Must(Options[int, int]{Limit: n}) // one shard
	for k := range n {
		c.Set(k, k)
	}
	for range c.All() {
		break
	}
	for k := range n {
		c.Del(k)
	}
	if got := len(c.table.Load().shards[0].entries); got != minSlots {
		t.Errorf("%d slots for nothing", got)
	}
}

// TestReserveAll: the budget can be used up, and no more than that.
func TestReserveAll(t *testing.T) {
	var b budget
	b.max.Store(3)
	if !b.reserve(3) || b.reserve(1) || !b.reserve(0) {
		t.Error("want 3 of 3, and then no more")
	}
	b.release(2)
	if b.reserve(3) || !b.reserve(2) {
		t.Error("want 2 of 3 again")
	}
	b.max.Store(1) // by Resize
	if b.reserve(1) || b.reserve(0) {
		t.Error("a budget that is overdrawn has something left")
	}
}

// TestTickFor: the tick goes by what is shorter, if there are both.
func TestTickFor(t *testing.T) {
	for _, test := range []struct{ expire, idle, want time.Duration }{
		{0, 0, defaultTick},
		{2 * time.Second, 0, 20 * time.Millisecond},
		{0, 2 * time.Second, 20 * time.Millisecond},
		{2 * time.Second, 10 * time.Second, 20 * time.Millisecond},
		{10 * time.Second, 2 * time.Second, 20 * time.Millisecond},
		{time.Millisecond, 0, minTick},
		{time.Hour, 0, maxTick},
	} {
		if got := tickFor(test.expire, test.idle); got != test.want {
			t.Errorf("tickFor(%v, %v) is %v, want %v", test.expire, test.idle, got, test.want)
		}
	}
}

// TestRemovedAtTheNextTick: what expires between two ticks is gone after the second.
func TestRemovedAtTheNextTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Second})
		time.Sleep(c.tick / 4)
		c.Set(1, 1)
		time.Sleep(time.Second)
		if c.Len() != 1 {
			t.Error("removed before the tick")
		}
		time.Sleep(c.tick)
		synctest.Wait()
		if c.Len() != 0 {
			t.Error("not removed at the tick")
		}
	})
}

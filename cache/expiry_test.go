package cache

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadStaysDead checks that an entry that one reader has found expired is not extended
// by another reader that saw it alive before and was held up.
func TestDeadStaysDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Idle: time.Minute})
		time.Sleep(time.Millisecond) // so that the deadline is between ticks, and the entry stays for a while
		c.Set(1, 1)
		time.Sleep(time.Minute - 1)
		s := c.common.shardOf(c.common.hasher.Hash(1))
		i, ok := s.findLive(c.common.hasher.Hash(1), 1)
		if !ok {
			t.Fatal("expired too early")
		}
		time.Sleep(time.Nanosecond)
		if _, ok := c.Peek(1); ok {
			t.Fatal("expired too late")
		}
		if postpone(&s.entries[i].deadline, math.MaxInt64) || s.lives.retime(i, &s.entries[i].deadline, math.MaxInt64, &c.common.time) {
			t.Error("a dead entry was extended")
		}
		if _, ok := c.Get(1); ok {
			t.Error("a dead entry came back")
		}
	})
}

// TestSlideKeepsTheLatest checks that of two reads that postpone the end of idleness the
// later one counts, also if it is applied first.
func TestSlideKeepsTheLatest(t *testing.T) {
	c := Must(Options[int, int]{Expire: time.Hour})
	c.Set(1, 1)
	s := c.common.shardOf(c.common.hasher.Hash(1))
	i, _ := s.find(c.common.hasher.Hash(1), 1)
	late := s.entries[i].deadline.Get() + 1000
	if !postpone(&s.entries[i].deadline, late) || !postpone(&s.entries[i].deadline, late-1) {
		t.Error("an entry that is alive was found dead")
	}
	if got := s.entries[i].deadline.Get(); got != late {
		t.Errorf("the deadline is %d, want %d", got, late)
	}
}

// TestMarksDoNotHoldUpExpiry checks that a tick ends and removes what has expired, though deadlines
// are brought forward faster than it moves tasks.
func TestMarksDoNotHoldUpExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		c := Must(Options[int, int]{Limit: 2 * n, Expire: time.Hour})
		c.setShards(1)
		c.common.time.driver.newTimer = func(time.Duration) *time.Timer { return time.AfterFunc(time.Hour, func() {}) } // the test ticks itself
		for k := range n {
			c.Set(k, k)
		}
		c.SetWithExpire(0, 0, time.Minute)
		s := &c.common.table.Load().shards[0]
		time.Sleep(2 * time.Minute)
		c.SetWithExpire(1, 1, 50*time.Minute)
		batches := 0
		for done := false; !done; batches++ {
			if batches > n {
				t.Fatalf("not at an end after %d batches", n)
			}
			for w := range s.lives.earlier.words {
				s.lives.earlier.words[w] = 1<<bitsPerWord - 1
			}
			done, _ = s.expireSome()
		}
		if c.Len() != n-1 || s.lives.earlier == nil || s.lives.nextVisit.Load() != c.common.time.clock.Now()/int64(c.common.time.clock.PerTick)+1 {
			t.Errorf("%d entries, want %d; earlier is %v, the next visit %d", c.Len(), n-1, s.lives.earlier, s.lives.nextVisit.Load())
		}
		c.Clear()
	})
}

// TestTouchOfAReader checks that a shorter TTL takes no lock for writing if the ring
// visits the entry in time, or the next tick looks at such entries anyway.
func TestTouchOfAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Limit: 10})
		c.SetWithExpire(1, 1, 20*c.common.time.clock.PerTick)
		h := c.common.hasher.Hash(1)
		for _, step := range []struct {
			ticks time.Duration
			done  bool
		}{{50, true}, {20, true}, {30, true}, {19, false}, {0, false}} {
			l, found, done := c.common.touch(h, 1, step.ticks*c.common.time.clock.PerTick)
			if !found || done != step.done {
				t.Errorf("to %d ticks: found is %v, done %v, want %v", step.ticks, found, done, step.done)
			} else if done && c.deadlineOf(1) != l.deadline {
				t.Errorf("to %d ticks: the deadline is %d, want %d", step.ticks, c.deadlineOf(1), l.deadline)
			}
		}
		c.SetWithExpire(2, 2, 100*c.common.time.clock.PerTick)
		c.Touch(2, 10*c.common.time.clock.PerTick) // locks for writing, so that the others of this tick need not
		if _, _, done := c.common.touch(h, 1, 5*c.common.time.clock.PerTick); !done {
			t.Error("to 5 ticks, after another such: not done")
		}
		time.Sleep(5 * c.common.time.clock.PerTick)
		synctest.Wait()
		if c.Len() != 1 {
			t.Error("what a reader brought forward was not removed in time")
		}
		c.Clear()
	})
}

// TestLaterSetsAndTouchesAreLazy checks that Sets and Touches of a key to later deadlines leave the
// ring alone, until that comes by the key as planned: once per TTL, however often it is refreshed.
//
// Catches: a Set or Touch that tells the ring, an eager one, one that wakes the driver.
func TestLaterSetsAndTouchesAreLazy(t *testing.T) {
	const often = 10_000
	for name, refresh := range map[string]func(c *Cache[int, int], ttl time.Duration){
		"Set":   func(c *Cache[int, int], ttl time.Duration) { c.SetWithExpire(1, 2, ttl) },
		"Touch": func(c *Cache[int, int], ttl time.Duration) { c.Touch(1, ttl) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := Must(Options[int, int]{Limit: 10})
			defer mustClose(t, c)
			c.SetWithExpire(1, 1, time.Minute)
			s := &c.common.table.Load().shards[0]
			due, _ := s.lives.ring.Due(0)
			next := s.lives.nextVisit.Load()
			for i := range often {
				refresh(c, time.Minute+time.Duration(i)*time.Millisecond)
			}
			if now, _ := s.lives.ring.Due(0); now != due || s.lives.nextVisit.Load() != next {
				t.Errorf("%s: the ring was told %d instead of %d, and the driver %d instead of %d", name, now, due, s.lives.nextVisit.Load(), next)
			}
			for range often { // each 6 ms of the minute
				time.Sleep(6 * time.Millisecond)
				refresh(c, time.Minute)
			}
			time.Sleep(time.Second)
			if visits, relinks := s.lives.ring.Counts(); visits > 2 || relinks != visits || c.Len() != 1 {
				t.Errorf("%s: %d visits and %d relinks in a minute", name, visits, relinks)
			}
		})
	}
}

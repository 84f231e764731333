package acceptance

import (
	"math"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestStats compares the statistics with what was done to a cache.
func TestStats(t *testing.T) {
	// Catches: a counter that is missing, doubled, or moved by what must not move it (Peek).
	Bubble(t, "every counter", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 3})
		c.Set("a", 1)
		c.Set("b", 2)
		before := c.Stats()
		c.Get("a")                                                // hit
		c.Get("absent")                                           // miss
		c.Peek("a")                                               // nothing
		c.Peek("absent")                                          // nothing
		_, _ = c.Take("a", FailFetch)                             // hit
		_, _ = c.Take("c", func() (int, error) { return 3, nil }) // miss, load
		_, _ = c.Take("x", FailFetch)                             // miss, failed load
		c.Set("a", 4)                                             // replaced
		c.Set("d", 5)                                             // evicts one
		c.Del("d")                                                // deleted
		c.SetWithExpire("e", 6, time.Second)                      // expires
		time.Sleep(time.Second)                                   //
		c.Get("e")                                                // miss, expired unless reclaimed
		time.Sleep(MaxTick)                                       //
		c.Clear()                                                 // two left
		s := c.Stats().Minus(before)
		if s.Hits != 2 || s.Misses != 4 || s.Gets() != 6 {
			t.Errorf("hits, misses, gets = %d, %d, %d; want 2, 4, 6", s.Hits, s.Misses, s.Gets())
		}
		if s.MissesExpired > 1 {
			t.Errorf("%d misses for expiry, want at most 1", s.MissesExpired)
		}
		if got, want := s.HitRatio(), 2.0/6; math.Abs(got-want) > 1e-9 {
			t.Errorf("hit ratio %v, want %v", got, want)
		}
		r := s.Removals
		if r.Expired != 1 || r.Evicted != 1 || r.Deleted != 1 || r.Replaced != 1 || r.Cleared != 2 {
			t.Errorf("removals %+v, want 1 of each and 2 cleared", r)
		}
		if s.Sets < 3 || s.Sets > 4 {
			t.Errorf("%d sets, want the 3 calls of Set, or 4 with the one of Take", s.Sets)
		}
	})

	// Catches: a miss for expiry that is counted as one for absence, or not at all.
	Bubble(t, "expired misses", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		c.SetWithExpire("far", 1, time.Hour) // the wheel's tick stays coarse
		time.Sleep(3 * time.Millisecond)
		expired := 0
		for range 50 {
			c.SetWithExpire("k", 1, time.Hour)
			c.Touch("k", time.Nanosecond)
			time.Sleep(time.Nanosecond)
			if c.Len() == 2 { // not yet reclaimed: the reason must be known
				expired++
			}
			WantMiss(t, c, "k")
		}
		if s := c.Stats(); s.Misses != 50 || s.MissesExpired > 50 || s.MissesExpired < uint64(expired) {
			t.Errorf("misses %d, of them expired %d; want 50 and at least %d", s.Misses, s.MissesExpired, expired)
		}
	})

	// Catches: gauges that drift from what is in the cache.
	Bubble(t, "gauges", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{MaxWeight: 100, Weigh: func(_ string, v int) uint32 { return uint32(v) }})
		c.Set("a", 10)
		c.Set("b", 20)
		c.Set("b", 25)
		c.Set("c", 30)
		c.Del("a")
		if s := c.Stats(); s.Entries != 2 || s.Weight != 55 || s.MaxWeight != 100 {
			t.Errorf("entries, weight, most weight = %d, %d, %d; want 2, 55, 100", s.Entries, s.Weight, s.MaxWeight)
		}
		l := New(t, cache.Options[string, int]{Limit: 7})
		l.Set("a", 1)
		if s := l.Stats(); s.Entries != 1 || s.Limit != 7 {
			t.Errorf("entries, limit = %d, %d; want 1, 7", s.Entries, s.Limit)
		}
	})
}

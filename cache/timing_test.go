package cache

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// deadlineOf returns the deadline of a key that the cache has.
func (c *Cache[K, V]) deadlineOf(key K) int64 {
	h := c.common.hasher.Hash(key)
	s := c.common.shardOf(h)
	defer s.lock.RUnlock(s.lock.RLock())
	i, ok := s.find(h, key)
	if !ok {
		panic("deadlineOf: no such key")
	}
	return s.entries[i].deadline.Get()
}

// realTime is the time on the clock of the cache by the real clock.
func (c *Cache[K, V]) realTime() int64 { return c.common.time.clock.Real() }

// TestBusyTicksKeepTTLs stores far more entries in a tick than there are exact readings.
// None lives longer than its TTL, or shorter by more than a tick.
func TestBusyTicksKeepTTLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, ttl = 3000, time.Hour
		c := Must(Options[int, int]{Expire: ttl})
		if c.common.time.clock.PerTick != time.Second {
			t.Fatalf("the tick is %v, not a second", c.common.time.clock.PerTick)
		}
		time.Sleep(time.Millisecond / 2) // so that nothing falls on a tick
		early := 0
		for k := range n {
			c.Set(k, k)
			lives := time.Duration(c.deadlineOf(k) - c.realTime())
			if lives > ttl || lives < ttl-c.common.time.clock.PerTick {
				t.Fatalf("entry %d of %d lives for %v", k, n, lives)
			}
			if lives != ttl {
				early++
			}
			time.Sleep(time.Millisecond)
		}
		if early < n/4 {
			t.Errorf("only %d of %d lives are early: this test needs a busy tick", early, n)
		}
		// The same from outside: entry k was stored k milliseconds after the first.
		time.Sleep(ttl - n*time.Millisecond - c.common.time.clock.PerTick - 1)
		for k := range n + 1000 {
			if _, ok := c.Peek(k); !ok && k < n {
				t.Fatalf("entry %d is gone a tick before its time", k)
			}
			time.Sleep(time.Nanosecond)
			if _, ok := c.Peek(k - 1000); ok {
				t.Fatalf("entry %d is there at its time", k-1000)
			}
			time.Sleep(time.Millisecond - 1)
		}
		time.Sleep(c.common.time.clock.PerTick)
		if got := c.Len(); got != 0 {
			t.Errorf("%d entries are left", got)
		}
	})
}

// TestBusyTouchesKeepTTLs touches one entry all the time, after others have used up the
// exact readings of the tick. It lives for nearly the TTL after each touch, and not
// longer.
func TestBusyTouchesKeepTTLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = time.Hour
		c := Must(Options[int, int]{Expire: ttl})
		c.Set(0, 0)
		for n := range 10_000 {
			if n%100 == 0 {
				time.Sleep(c.common.time.untilTick(c.realTime()) + 1)
				for k := range 2 * clock.ReadingsPerTick {
					c.Set(k+1, k)
				}
			}
			time.Sleep(c.common.time.clock.PerTick / 128)
			if !c.Touch(0, ttl) {
				t.Fatal("the entry is gone")
			}
			if lives := time.Duration(c.deadlineOf(0) - c.realTime()); lives > ttl || lives < ttl-2*c.common.time.clock.PerTick {
				t.Fatalf("the entry lives for %v", lives)
			}
		}
		time.Sleep(ttl + c.common.time.clock.PerTick)
		if got := c.Len(); got != 0 {
			t.Errorf("%d entries are left", got)
		}
	})
}

// TestShortTTLsAreExact checks that a life of less than a hundred ticks, by TTL or by
// Idle, begins at the exact time, however many begin in a tick.
func TestShortTTLsAreExact(t *testing.T) {
	const n = 3 * clock.ReadingsPerTick
	check := func(t *testing.T, c *Cache[int, int], key int, ttl time.Duration) {
		t.Helper()
		if got := time.Duration(c.deadlineOf(key) - c.realTime()); got != ttl {
			t.Fatalf("entry %d lives for %v, want %v", key, got, ttl)
		}
	}
	for name, o := range map[string]Options[int, int]{
		"without a TTL": {},
		"beside long":   {Expire: time.Hour},
		"all short":     {Expire: 500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := Must(o)
			for k := range n {
				c.Set(-k-1, k) // uses up the exact readings
				for _, ttl := range []time.Duration{1, time.Millisecond, c.common.time.clock.PerTick, ticksPerTTL*c.common.time.clock.PerTick - 1} {
					c.SetWithExpire(k, k, ttl)
					check(t, c, k, ttl)
					if !c.Touch(k, 2*ttl/3+1) {
						t.Fatalf("%s: entry %d is gone", name, k)
					}
					check(t, c, k, 2*ttl/3+1)
					c.Touch(k, 2*ttl/3+c.common.time.clock.PerTick/8) // next to nothing counts too
					check(t, c, k, 2*ttl/3+c.common.time.clock.PerTick/8)
				}
				time.Sleep(c.common.time.clock.PerTick / n)
			}
			time.Sleep(ticksPerTTL * c.common.time.clock.PerTick)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Idle: 500 * time.Millisecond})
		c.Set(0, 0)
		for range n {
			time.Sleep(c.common.time.clock.PerTick / n)
			c.Get(0)
			check(t, c, 0, c.common.time.idle)
		}
		time.Sleep(time.Second)
	})
}

// TestJitterInABusyTick checks that a TTL that jitter makes short counts from the exact
// time. Otherwise a value could be gone before its Set returns.
func TestJitterInABusyTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: 10 * time.Second, Jitter: 0.999})
		c.Set(-1, 1)
		for n := range 3000 {
			time.Sleep(c.common.time.untilTick(c.realTime()) + 1)
			for k := range clock.ReadingsPerTick + 1 {
				c.Set(-k, k)
			}
			time.Sleep(c.common.time.clock.PerTick - 2)
			c.Set(n, n)
			if _, ok := c.Get(n); !ok {
				t.Fatalf("Set %d was lost", n)
			}
		}
		c.Clear()
	})
}

// TestAbsentKeysTakeNoReadings checks that a Touch of a missing key does not use up exact
// readings of the clock, nor a Get with Idle those for stores.
func TestAbsentKeysTakeNoReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: 100 * time.Second, Idle: time.Hour})
		c.Set(1, 1)
		for range 2 * clock.ReadingsPerTick {
			c.Touch(2, time.Hour)
			c.Get(1)
		}
		time.Sleep(c.common.time.clock.PerTick / 2)
		c.Set(3, 3)
		if got := time.Duration(c.deadlineOf(3) - c.realTime()); got != 100*time.Second {
			t.Errorf("a TTL of %v, want 100 s", got)
		}
		c.Clear()
	})
}

// TestIdleForEver checks that an Idle time beyond the last representable deadline does not
// make an entry without end of one that has a TTL.
func TestIdleForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Idle: math.MaxInt64 - 10*time.Second})
		c.Set(1, 1)
		time.Sleep(11 * time.Second)
		c.Get(1)
		c.common.time.stopDriver()
		wantWhole(t, c)
	})
}

// TestTuneLooksAtNoEntry checks that Tune does not wait for shards, unless Grace becomes shorter or Bypass changes.
func TestTuneLooksAtNoEntry(t *testing.T) {
	c := Must(Options[int, int]{Grace: time.Second})
	c.Set(1, 1)
	s := c.common.lock(c.common.hasher.Hash(1))
	defer s.lock.Unlock()
	if _, err := c.Tune(func(to *Tuning) {
		*to = Tuning{Expire: time.Hour, Grace: time.Hour, Patience: time.Second, MaxLoads: 7}
	}); err != nil {
		t.Error(err)
	}
	if _, err := c.Tune(func(to *Tuning) { to.MaxLoads = 0 }); err != nil {
		t.Error(err)
	}
}

package cache

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// ticksOf counts the ticks of the driver of a cache, which has not begun, while f runs.
func ticksOf(c *Cache[int, int], f func()) int64 {
	var n atomic.Int64
	c.common.time.driver.newTimer = func(wait time.Duration) *time.Timer {
		return time.AfterFunc(wait, func() { n.Add(1); c.tickNow() })
	}
	f()
	synctest.Wait()
	return n.Load()
}

// TestDriverSleepsUntilAnEntryExpires checks that the driver sleeps until an entry
// expires, whatever the tick, and does not tick at all when none is left.
func TestDriverSleepsUntilAnEntryExpires(t *testing.T) {
	for name, o := range map[string]Options[int, int]{
		"a second": {Expire: time.Second},
		"an hour":  {Expire: time.Hour},
		"idle":     {Idle: time.Hour},
		"refresh":  {Expire: time.Hour, Refresh: 0.8},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := Must(o)
			const most = 48 // visits on the way, one in 128 × 128 ticks, and those before, which move the horizon on
			if got := ticksOf(c, func() {
				c.SetWithExpire(1, 1, time.Hour)
				time.Sleep(time.Hour - time.Nanosecond)
				if _, ok := c.Peek(1); !ok {
					t.Errorf("%s: gone before its time", name)
				}
				time.Sleep(time.Nanosecond)
				if _, ok := c.Peek(1); ok {
					t.Errorf("%s: there at its time", name)
				}
				time.Sleep(c.common.time.clock.PerTick)
				synctest.Wait()
				if c.Len() != 0 {
					t.Errorf("%s: not removed a tick later", name)
				}
			}); got > most {
				t.Errorf("%s: %d ticks for one entry, want at most %d", name, got, most)
			}
			wantWhole(t, c)
			if c.common.time.driver.wakeTick != noTick {
				t.Errorf("%s: the driver is to tick at %d, with nothing in the cache", name, c.common.time.driver.wakeTick)
			}
		})
	}
}

// TestSetWhileShardsAreVisited checks that a deadline set after its shard was visited, but
// before the driver sets its timer, is not forgotten.
func TestSetWhileShardsAreVisited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{})
		c.common.time.beginTick(true)
		next := c.expire()
		c.SetWithExpire(1, 1, time.Second)
		c.common.time.endTick(next)
		time.Sleep(time.Second + c.common.time.clock.PerTick)
		synctest.Wait()
		if c.Len() != 0 {
			t.Error("the driver sleeps on")
		}
	})
}

// TestHorizonOfALongSleep checks that while the driver sleeps a read of an entry that
// expires much later does not read the clock, and one of an entry that expires soon does.
func TestHorizonOfALongSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Hour}) // ticks every second
		c.SetWithExpire(1, 1, 8*time.Minute)            // less than a revolution
		for wait := time.Minute; wait < 8*time.Minute; wait += time.Minute {
			time.Sleep(time.Minute)
			if !c.common.time.clock.Far(c.deadlineOf(1)) {
				t.Fatalf("a read after %v of 8 minutes reads the clock", wait)
			}
		}
		time.Sleep(time.Minute - time.Second)
		if c.common.time.clock.Far(c.deadlineOf(1)) {
			t.Error("a read a second before the end does not read the clock")
		}
		c.Clear()
	})
}

// TestHorizonLeavesTimesWhenDue: nor does a read with Refresh of an entry that is not due for a
// while, also while another one has been due for long.
func TestHorizonLeavesTimesWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Hour, Refresh: 0.8})
		c.Set(1, 1)
		time.Sleep(5 * time.Minute)
		c.Set(2, 2)
		for wait := time.Duration(0); wait < 46*time.Minute; wait += 30 * time.Second { // due after 48, read exactly in the last of the steps
			if !c.common.time.clock.Far(c.deadlineOf(2) - c.common.time.lead.Load()) {
				t.Fatalf("a read after %v of the 48 minutes reads the clock", wait)
			}
			time.Sleep(30 * time.Second)
		}
		c.Clear()
	})
}

// TestLeadOfTheLongestTTL checks that a Take finds what has expired, though another entry is due for
// as long as there are times before its deadline.
func TestLeadOfTheLongestTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Minute, Refresh: 1e-9, Grace: time.Hour})
		c.SetWithExpire(1, 1, math.MaxInt64-time.Minute)
		time.Sleep(time.Minute)
		c.Set(2, 2)
		time.Sleep(2 * time.Minute)
		if v, err := c.Take(2, func() (int, error) { return 20, nil }); v != 20 || err != nil {
			t.Errorf("Take = %d, %v, want 20 from its fetch", v, err)
		}
		c.Clear()
	})
}

// TestLeadIsNotThatOfTheLastEntry checks that an entry with a long TTL is renewed when it is due,
// though another with a shorter one was stored later.
func TestLeadIsNotThatOfTheLastEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Hour, Refresh: 0.1})
		c.SetWithExpire(1, 1, 100*time.Hour)
		c.Set(2, 2)
		time.Sleep(11 * time.Hour)
		renewals := 0
		if v, err := c.TakeCtx(t.Context(), 1, func(context.Context) (int, error) { renewals++; return 10, nil }); v != 1 || err != nil {
			t.Errorf("TakeCtx = %d, %v, want 1", v, err)
		}
		synctest.Wait()
		if renewals != 1 {
			t.Errorf("%d renewals, want 1", renewals)
		}
		c.Clear()
	})
}

// TestABusyTickEnds checks that the driver brings the next tick when the exact readings of
// one are used up, although no entry expires soon.
func TestABusyTickEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = time.Hour
		c := Must(Options[int, int]{Expire: ttl})
		for range 50 {
			for k := range 2 * clock.ReadingsPerTick {
				c.Set(k, k)
			}
			time.Sleep(10*c.common.time.clock.PerTick + c.common.time.clock.PerTick/2)
			c.Set(-1, 0)
			if lives := time.Duration(c.deadlineOf(-1) - c.realTime()); lives != ttl {
				t.Fatalf("a TTL of %v, want %v", lives, ttl)
			}
		}
		c.Clear()
	})
}

// TestTickFor checks the tick for given TTLs: with both Expire and Idle the shorter one
// counts.
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

// TestHorizonComesBack: a shorter TTL than those before does not make reads read the clock.
func TestHorizonComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: 10 * time.Hour})
		c.Set(1, 1)
		c.SetWithExpire(2, 2, time.Hour)
		if !c.common.time.clock.Far(c.deadlineOf(2)) {
			t.Error("a deadline in an hour is compared with the clock")
		}
	})
}

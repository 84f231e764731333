package cache

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// jump advances the clock of a cache without a tick, as if the process had stood still.
func jump[K comparable, V any](c *Cache[K, V], by time.Duration) {
	c.gate.enter()
	defer c.gate.exit() // before the next tick enters
	c.common.time.clock.Skip(by)
	c.common.time.driver.mu.Lock()
	defer c.common.time.driver.mu.Unlock()
	if c.common.time.driver.timer != nil { // it goes by another clock here
		c.common.time.driver.timer.Reset(max(time.Duration(c.common.time.driver.wakeTick*int64(c.common.time.clock.PerTick)-c.realTime()), c.common.time.untilTick(c.realTime())))
	}
}

// TestClockJumps: while no tick comes, for up to ten seconds no read finds what has
// expired. After a longer time one can be late by what exceeds them, until the first
// tick, or the first read of what is closer to its end. Then each entry that has
// expired goes, once, and no other.
//
// Catches: reads that trust the clock of the ticks for longer than they may, a tick
// for each that was missed, entries whose tasks were passed over.
func TestClockJumps(t *testing.T) {
	for _, by := range []time.Duration{50 * time.Millisecond, 3 * time.Second, 10 * time.Second, 5 * time.Minute, 30 * 24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { clockJumps(t, by) })
		})
	}
}

func clockJumps(t *testing.T, by time.Duration) {
	removed := map[int]Cause{}
	c := Must(Options[int, int]{Workers: 1, OnRemove: func(e Event[int, int]) {
		if removed[e.Key] != 0 {
			t.Errorf("%+v: reported before as %v", e, removed[e.Key])
		}
		removed[e.Key] = e.Cause
	}})
	const n = 100
	ends := func(i int) time.Duration { return by/n*time.Duration(2*i) + 1 } // half of them within the jump
	for i := range n {
		c.SetWithExpire(i, i, ends(i))
	}
	jump(c, by)
	for i := n - 1; i >= 0; i-- { // the latest first: one that is near asks the clock
		_, found := c.Get(i)
		expired, near := ends(i) <= by, ends(i) <= 10*time.Second
		if found && expired && near || !found && !expired {
			t.Errorf("an entry with a TTL of %v: found is %t after a jump by %v", ends(i), found, by)
		}
	}
	time.Sleep(c.common.time.clock.PerTick) // the first tick
	synctest.Wait()
	for i := range n {
		_, found := c.Get(i)
		if expired := ends(i) <= by+c.common.time.clock.PerTick; found == expired {
			t.Errorf("an entry with a TTL of %v: found is %t a tick after a jump by %v", ends(i), found, by)
		}
		if cause, expired := removed[i], ends(i) <= by; expired != (cause == Expired) && ends(i) > by+c.common.time.clock.PerTick {
			t.Errorf("an entry with a TTL of %v: reported as %v after a jump by %v", ends(i), cause, by)
		}
	}
	jump(c, by)
	time.Sleep(2 * c.common.time.clock.PerTick)
	synctest.Wait()
	if len(removed) != n || c.Len() != 0 {
		t.Errorf("%d entries reported, %d left, of %d", len(removed), c.Len(), n)
	}
	wantWhole(t, c)
	mustClose(t, c)
}

// TestLoadWhileTheClockJumps checks that a value stored after a jump of the clock has its
// whole TTL, also if its load began before.
//
// Catches: a deadline that is counted from before the load, or from the last tick.
func TestLoadWhileTheClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{Expire: time.Minute})
		c.Set(0, 0)
		failed := errors.New("failed")
		if v, err := c.Take(1, func() (int, error) { jump(c, 5*time.Minute); return 1, nil }); v != 1 || err != nil {
			t.Errorf("Take = %d, %v", v, err)
		}
		c.Set(2, 2)
		time.Sleep(time.Minute - 1)
		for key := 1; key <= 2; key++ {
			if v, err := c.Take(key, func() (int, error) { return 0, failed }); v != key || err != nil {
				t.Errorf("Take(%d) = %d, %v a nanosecond before its end", key, v, err)
			}
		}
		time.Sleep(time.Nanosecond)
		for key := range 3 {
			if _, err := c.Take(key, func() (int, error) { return 0, failed }); err != failed {
				t.Errorf("Take(%d) does not fetch at its end", key)
			}
		}
		mustClose(t, c)
	})
}

package timingwheel

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestSameTick compares sameTick with a division. It may say no of a deadline at the end of the
// tick, but seldom.
func TestSameTick(t *testing.T) {
	for _, tick := range []time.Duration{1, 3, time.Millisecond, 10 * ms, 100 * ms, 7 * time.Hour} {
		c := newClock(tick)
		missed := 0
		for range 10_000 {
			first := rand.Int64N(math.MaxInt64>>rand.IntN(62)) + 1
			ends := c.of(c.dueTick(first))
			for _, second := range []int64{first, first + (ends-first)/2, ends, ends + 1, ends + c.tick} {
				if second < first { // after the last time of the clock
					continue
				}
				same := c.dueTick(second) == c.dueTick(first)
				switch got := c.sameTick(first, second); {
				case got && !same:
					t.Fatalf("tick %v: sameTick(%d, %d), want ticks %d and %d", tick, first, second, c.dueTick(first), c.dueTick(second))
				case !got && same:
					missed++
				}
			}
		}
		if tick >= time.Millisecond && missed > 2000 {
			t.Errorf("tick %v: sameTick missed %d of 30,000 deadlines", tick, missed)
		}
	}
}

// TestResetWithinATick: a Reset to a deadline that is due at the same tick writes nothing, and
// the timer fires at that tick. A Reset to the next tick counts.
func TestResetWithinATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers, err := NewTimers(10*ms, 64)
		if err != nil {
			t.Fatal(err)
		}
		defer timers.Stop()
		start, fired := time.Now(), make(chan time.Duration, 1)
		timer := timers.AfterFunc(21*ms, func() { fired <- time.Since(start) })
		set := timer.state.Load()
		time.Sleep(4 * ms)
		if !timer.Reset(21*ms) || timer.state.Load() != set {
			t.Errorf("Reset from 21 to 25 ms: deadline %d is now %d, want no change", set, timer.state.Load())
		}
		if at := <-fired; at != 30*ms {
			t.Errorf("reset to 25 ms, fired after %v, want 30 ms", at)
		}
		timer = timers.AfterFunc(21*ms, func() { fired <- time.Since(start) })
		time.Sleep(5 * ms)
		timer.Reset(26 * ms)
		if at := <-fired; at != 70*ms {
			t.Errorf("reset to 61 ms, fired after %v, want 70 ms", at)
		}
	})
}

package timingwheel

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestTicks compares the product by which ticks divides with a division.
func TestTicks(t *testing.T) {
	for _, tick := range []time.Duration{1, 2, 3, 100 * time.Microsecond, 10 * ms, 7*time.Hour + 1, 365 * 24 * time.Hour} {
		c := newClock(tick)
		for range 10_000 {
			some := rand.Int64N(math.MaxInt64 >> rand.IntN(62))
			whole := some - some%c.tick
			for _, at := range []int64{0, some, whole, max(whole-1, 0), math.MaxInt64, math.MaxInt64 - some} {
				if got := c.ticks(at); got != at/c.tick {
					t.Fatalf("tick %v: %d ticks up to %d, want %d", tick, got, at, at/c.tick)
				}
			}
		}
	}
}

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
		timers, l := mustTimers(t, 10*ms, 64), newTimes()
		same, next := timers.AfterFunc(21*ms, l.note), timers.AfterFunc(21*ms, l.note)
		set := same.state.Load()
		time.Sleep(4 * ms)
		if !same.Reset(21*ms) || same.state.Load() != set {
			t.Errorf("Reset from 21 to 25 ms: deadline %d is now %d, want no change", set, same.state.Load())
		}
		next.Reset(27 * ms)
		time.Sleep(time.Second)
		l.want(t, 30, 40)
	})
}

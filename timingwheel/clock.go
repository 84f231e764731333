package timingwheel

import (
	"math"
	"math/bits"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/bubble"
)

// A clock tells the time in nanoseconds and in ticks. It is monotonic: changes of
// the wall clock do not affect it. It begins at one tick, so that no time is 0.
type clock struct {
	start time.Time // when the clock stood at 0
	tick  int64     // the length of a tick in nanoseconds
	inv   uint64    // 2⁶⁴ / tick, rounded down: a product with it is faster than a division
}

func newClock(tick time.Duration) clock {
	return clock{time.Now().Add(-tick), int64(tick), math.MaxUint64 / uint64(tick)}
}

// now returns the time.
func (c *clock) now() int64 {
	now := int64(time.Since(c.start))
	if uint64(now) > twentyYears {
		c.checkBubble()
	}
	return now
}

// Bubbles of testing/synctest begin in the year 2000: a clock from outside shows a negative
// time in a bubble, and a clock from a bubble shows more than 20 years outside.
const twentyYears = 20 * 365 * 24 * uint64(time.Hour)

// checkUse panics if the clock was made in another bubble: see checkBubble. It costs a
// reading of the clock, so the removal of a timer goes without.
func (c *clock) checkUse() { c.now() }

// checkBubble panics if the clock was made in a bubble of testing/synctest and is
// read outside, or the other way round: timers would never fire, and the runtime
// would end the process when its own timer is touched.
func (c *clock) checkBubble() {
	switch made, used := bubble.Read(c.start), bubble.In(); {
	case used && !made:
		panic("timingwheel: a wheel that was made outside of a testing/synctest bubble is used in one: make it in the bubble")
	case made && !used:
		panic("timingwheel: a wheel that was made in a testing/synctest bubble is used outside: stop it in the bubble, and make another")
	}
}

// A span is the time from now to a deadline.
type span struct{ now, deadline int64 }

// in returns the span of d from now, cut at the last time of the clock. A negative d
// counts as 0.
func (c *clock) in(d time.Duration) span {
	now := c.now()
	if t := now + max(int64(d), 0); t > 0 {
		return span{now, t}
	}
	return span{now, math.MaxInt64}
}

// at returns the span up to a moment, which is empty if the moment has passed. As
// package time does, it compares monotonic readings where both times have one.
func (c *clock) at(when time.Time) span { return c.in(time.Until(when)) }

// moment returns the moment of a time, by the wall clock as it is set now.
func (c *clock) moment(t int64) time.Time {
	now := time.Now()
	return now.Add(time.Duration(t) - now.Sub(c.start))
}

// ticks returns the number of ticks up to a time, which is not negative: t / c.tick.
func (c *clock) ticks(t int64) int64 {
	n, _ := bits.Mul64(uint64(t), c.inv) // exact or one less
	if ticks := int64(n); t-ticks*c.tick < c.tick {
		return ticks
	}
	return int64(n) + 1
}

// idleTicks returns the ticks after which a shard without timers gives its ring back: none
// if ticks are slow.
func (c *clock) idleTicks() int64 { return int64(shrinkWithin-1) / c.tick }

// slow reports whether a tick is too long to wait for before memory is freed.
func (c *clock) slow() bool { return c.tick >= int64(shrinkWithin) }

// dueTick returns the first tick at or after a deadline: never early, and less
// than a tick late.
func (c *clock) dueTick(deadline int64) int64 { return c.ticks(deadline-1) + 1 }

// sameTick reports whether two deadlines are due at the same tick. The second must not be the
// earlier one. sameTick does not divide, so it may report false for the same tick, but never
// true for two.
func (c *clock) sameTick(first, second int64) bool {
	before, _ := bits.Mul64(uint64(first-1), c.inv) // at most dueTick(first) - 1
	return second <= (int64(before)+1)*c.tick
}

// of returns the time of a tick, or the last time of the clock.
func (c *clock) of(tick int64) int64 {
	if tick > math.MaxInt64/c.tick {
		return math.MaxInt64
	}
	return tick * c.tick
}

// passed reports whether the tick at which a deadline is due has begun by now.
func (c *clock) passed(deadline, now int64) bool { return deadline <= c.of(c.ticks(now)) }

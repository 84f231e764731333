package timingwheel

import (
	"math"
	"time"
)

// A clock tells the time in nanoseconds and in ticks. It is monotonic, whatever
// happens to the wall clock, and begins at one tick, so that no time is 0.
type clock struct {
	start time.Time // when the clock stood at 0
	tick  int64     // its length in nanoseconds
}

func newClock(tick time.Duration) clock {
	return clock{time.Now().Add(-tick), int64(tick)}
}

// now returns the time.
func (c *clock) now() int64 { return int64(time.Since(c.start)) }

// A span is from now to a deadline.
type span struct{ now, deadline int64 }

// in returns the span of d from now, or the longest there is. A d that is not
// positive counts as none.
func (c *clock) in(d time.Duration) span {
	now := c.now()
	if t := now + max(int64(d), 0); t > 0 {
		return span{now, t}
	}
	return span{now, math.MaxInt64}
}

// at returns the span up to a moment, or none if that has passed. Of two readings
// of the wall clock the difference counts, as in package time.
func (c *clock) at(when time.Time) span { return c.in(time.Until(when)) }

// moment returns the moment of a time.
func (c *clock) moment(t int64) time.Time { return c.start.Add(time.Duration(t)) }

// ticks returns the number of ticks up to a time.
func (c *clock) ticks(t int64) int64 { return t / c.tick }

// dueTick returns the first tick at or after a deadline: never early, and less
// than a tick late.
func (c *clock) dueTick(deadline int64) int64 { return (deadline-1)/c.tick + 1 }

// of returns the time of a tick, or the last there is.
func (c *clock) of(tick int64) int64 {
	if tick > math.MaxInt64/c.tick {
		return math.MaxInt64
	}
	return tick * c.tick
}

package cache

import (
	"math"
	"sync/atomic"
	"time"
)

// A clock tells the time in nanoseconds. It is monotonic and begins at one tick.
// Reading the real clock takes longer than a whole lookup, so a coarse time is
// kept beside it, which is never ahead and is brought up to date by the expiry
// driver at every tick and by every exact reading.
type clock struct {
	start  time.Time
	coarse atomic.Int64

	// spare is how many more times the real clock is read for a new deadline
	// before the next tick. It does not run out while the driver stands still.
	spare atomic.Int32
}

const (
	// near is how close a deadline must be to the coarse time for passed to ask
	// the real clock. The coarse time may stand still for that long, which takes a
	// machine that does not run a due timer for ten seconds, before a value is
	// read past its deadline.
	near = int64(10 * time.Second)

	// readingsPerTick is how many deadlines are exact in a tick. After that the
	// program is busy: the real clock is read for one in readEvery, or it would be
	// a third of what a Set costs.
	readingsPerTick = 256
	readEvery       = 32

	// step is what the coarse time must lag behind to be written, which all
	// processors then have to fetch, by a reading in a busy tick.
	step = int64(50 * time.Microsecond)
)

func (c *clock) init(tick time.Duration) {
	c.start = time.Now().Add(-tick)
	c.coarse.Store(int64(tick))
	c.pause()
}

// now returns the exact time.
func (c *clock) now() int64 {
	now := int64(time.Since(c.start))
	c.advance(now, step)
	return now
}

// recent returns a time for a new deadline that may be early, but not by more
// than a tick, if that is not late: it is exact as long as not much is done in a tick. luck decides
// whether it reads the real clock when more is done: the hash of a key will do. If
// exact is set the time is exact all the same.
func (c *clock) recent(luck uint64, exact bool) int64 {
	if exact {
		return c.now()
	}
	if spare := c.spare.Load(); spare > 0 {
		if spare <= readingsPerTick { // or else there are no ticks
			c.spare.Add(-1)
		}
		now := int64(time.Since(c.start))
		c.advance(now, 0)
		return now
	}
	if (luck>>20^uint64(c.coarse.Load()))%readEvery == 0 {
		c.advance(int64(time.Since(c.start)), step)
	}
	// Always this one, so that time does not go back from call to call.
	return c.coarse.Load()
}

// busy reports whether the exact readings of the tick are used up.
func (c *clock) busy() bool { return c.spare.Load() <= 0 }

// advance brings the coarse time up to date if it lags behind by more than a step.
// It never sets it back, which who read the real clock and then was held up would.
func (c *clock) advance(now, step int64) {
	for {
		coarse := c.coarse.Load()
		if now-coarse <= step || c.coarse.CompareAndSwap(coarse, now) {
			return
		}
	}
}

// tick is a tick of the driver.
func (c *clock) tick() {
	c.advance(int64(time.Since(c.start)), 0)
	c.spare.Store(readingsPerTick)
}

// pause says that there are no ticks to come for a while.
func (c *clock) pause() { c.spare.Store(math.MaxInt32) }

// far reports whether a deadline, or never, is so far that it has not passed: what
// there is to say of nearly all, and so it is inlined.
func (c *clock) far(deadline int64) bool { return deadline-c.coarse.Load() > near }

// passed reports whether the time has come that a deadline names.
func (c *clock) passed(deadline int64) bool {
	return !c.far(deadline) && (deadline <= c.coarse.Load() || deadline <= c.now())
}

// after returns the time d after now, or never if there is none.
func after(now int64, d time.Duration) int64 {
	if t := now + int64(d); t > 0 {
		return t
	}
	return never
}

// A moment is a time in units of 17 ms, of which two years are told apart.
type moment uint32

const momentShift = 24

func (c *clock) moment() moment { return moment(uint64(c.now()) >> momentShift) }

// until returns how long after m a later moment is.
func (m moment) until(later moment) time.Duration {
	return time.Duration(later-m) << momentShift
}

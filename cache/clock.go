package cache

import (
	"math"
	"sync/atomic"
	"time"
)

// A clock tells the time in nanoseconds. It is monotonic and begins at one tick.
// Reading the real clock takes longer than a whole lookup, so a coarse
// time is kept beside it, which is never ahead and is brought up to date by the
// expiry driver at every tick and by every exact reading.
type clock struct {
	start  time.Time
	coarse atomic.Int64
}

// near is how close a deadline must be to the coarse time for passed to ask the
// real clock. The coarse time may stand still for that long, which takes a
// machine that does not run a due timer for ten seconds, before a value is
// read past its deadline.
const near = int64(10 * time.Second)

const (
	never = 0 // the deadline of an entry without one
	dead  = 1 // that of an entry that was found expired: it is not to come back
)

func (c *clock) init(tick time.Duration) {
	c.start = time.Now().Add(-tick)
	c.coarse.Store(int64(tick))
}

// now returns the exact time.
func (c *clock) now() int64 {
	now := int64(time.Since(c.start))
	if now-c.coarse.Load() > int64(time.Millisecond) {
		c.coarse.Store(now)
	}
	return now
}

// passed reports whether the time has come that a deadline names.
func (c *clock) passed(deadline int64) bool {
	if deadline == never {
		return false
	}
	coarse := c.coarse.Load()
	if deadline-coarse > near {
		return false
	}
	return deadline <= coarse || deadline <= c.now()
}

// after returns the time d after now, or the last there is.
func after(now int64, d time.Duration) int64 {
	if t := now + int64(d); t > 0 {
		return t
	}
	return math.MaxInt64
}

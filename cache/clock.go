// This file has the time of a cache: what time it is for entries, when nobody needs to ask, and
// deadlines, which readers and writers change atomically.

package cache

import (
	"math"
	"sync/atomic"
	"time"
)

// A clock tells the time in nanoseconds. It is monotonic and begins at one tick. Reading the
// real clock takes longer than a whole lookup. So a clock keeps two times: a coarse one, which
// is never ahead, and the horizon.
type clock struct {
	start    time.Time
	perTick  int64 // nanoseconds
	coarse   atomic.Int64
	horizon  atomic.Int64 // no later deadline passes before the driver moves the horizon on; driver.mu guards changes
	stores   readings     // for the deadlines of what is stored or touched
	idleness readings     // for those that a Get puts off
}

const (
	// horizonAhead is how far beyond the next tick of the driver the horizon lies. If the
	// machine runs that tick ten seconds late, a value may be read past its deadline.
	horizonAhead = int64(10 * time.Second)

	// readingsPerTick is how many deadlines are exact in a tick. After them the program is
	// busy: one deadline in readEvery reads the real clock. If each did, that would be a third
	// of a Set.
	readingsPerTick = 256
	readEvery       = 32

	// step is how far the coarse time must lag before a reading in a busy tick writes
	// it: all processors must then fetch it anew.
	step = int64(50 * time.Microsecond)

	// outside tells a time of the real clock from one of a bubble of testing/synctest: bubbles
	// begin in the year 2000. The page of package stats, outside, reads caches in bubbles too.
	outside = int64(20 * 365 * 24 * time.Hour)
)

func (c *clock) init(tick time.Duration) {
	c.start = time.Now().Add(-tick)
	c.perTick = int64(tick)
	c.tick()
}

// now returns the exact time.
func (c *clock) now() int64 { return c.advance(int64(time.Since(c.start)), step) }

// checked is now, but panics if the cache was made outside a bubble of testing/synctest and is
// used in one. There its clock shows a negative time, so values would never expire. It must be
// called without a lock.
func (c *clock) checked() int64 {
	now := c.now()
	if now < 0 {
		panic("cache: a cache that was made outside of a testing/synctest bubble is used in one: make it in the bubble")
	}
	return now
}

// recent returns the time from which a new deadline counts. The time is exact while r has
// readings left, and always if exact is set. Otherwise it may be early, by a tick at most
// unless the tick is late. The hash of the key, h, decides whether recent reads the real clock.
// With the last reading of r, recent returns last: then the driver must bring the next tick.
func (c *clock) recent(r *readings, h uint64, exact bool) (now int64, last bool) {
	if exact {
		return c.now(), false
	}
	if r.left.Load() > 0 {
		now = int64(time.Since(c.start))
		c.advance(now, 0)
		return now, r.use(now, c.perTick)
	}
	if (h>>20^uint64(c.coarse.Load()))%readEvery == 0 {
		c.advance(int64(time.Since(c.start)), step)
	}
	// Not the reading just made: between calls time would go back.
	return c.coarse.Load(), false
}

// lately is recent for values that are stored, or returns false if recent has to read the
// real clock.
func (c *clock) lately(h uint64) (now int64, ok bool) {
	now = c.coarse.Load()
	return now, c.busy() && (h>>20^uint64(now))%readEvery != 0
}

// busy reports whether the exact readings of the tick are used up.
func (c *clock) busy() bool { return c.stores.left.Load() <= 0 }

// advance brings the coarse time up to date if it lags behind now by more than a step. It
// never sets the coarse time back, even if the caller was held up after it read the real
// clock. It returns now, or the coarse time if now was read outside the bubble.
func (c *clock) advance(now, step int64) int64 {
	for {
		coarse := c.coarse.Load()
		switch {
		case now-coarse <= step:
			return now
		case now-coarse > outside:
			return coarse
		case c.coarse.CompareAndSwap(coarse, now):
			return now
		}
	}
}

// tick is a tick of the driver.
func (c *clock) tick() {
	now := int64(time.Since(c.start))
	c.advance(now, 0)
	c.stores.refill(now, c.perTick)
	c.idleness.refill(now, c.perTick)
}

// trust sets the horizon, for a driver that will tick at a given time. It may set the horizon
// back: the nearer it is, the fewer deadlines are compared with the real clock.
func (c *clock) trust(at int64) { c.horizon.Store(at + horizonAhead) }

// far reports whether a deadline, or never, lies beyond the horizon and so has not
// passed. Nearly all do, so this check is inlined.
func (c *clock) far(deadline int64) bool { return deadline > c.horizon.Load() }

// passed reports whether a deadline has passed.
func (c *clock) passed(deadline int64) bool {
	return !c.far(deadline) && (deadline <= c.coarse.Load() || deadline <= c.now())
}

// A readings counts the exact readings of the clock that are left in a tick.
type readings struct {
	left atomic.Int32
	end  atomic.Int64 // of the tick; from then on there are new ones
}

// use takes a reading at the time now, and reports whether it was the last of its tick.
func (r *readings) use(now, tick int64) (last bool) {
	if now >= r.end.Load() {
		r.refill(now, tick)
	}
	return r.left.Add(-1) == 0
}

func (r *readings) refill(now, tick int64) {
	r.end.Store((now/tick + 1) * tick)
	r.left.Store(readingsPerTick)
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

const (
	never     = math.MaxInt64 // the deadline of an entry without one
	freeSlots = math.MinInt64 // from here on: no deadline, but the next free slot
	unused    = 0             // the slot is free, and so are all that follow
)

// A deadline is a time on the cache's clock. The deadline of an entry that was found
// expired is negated: the entry is dead, and no reader can bring it back. Readers load and
// swap a deadline atomically. set needs the lock of the shard for writing: an atomic store
// would double the cost of an overwrite.
type deadline struct {
	_ [0]atomic.Int64 // for its alignment on 32 bits
	t int64
}

func (d *deadline) get() int64 { return atomic.LoadInt64(&d.t) }

func (d *deadline) swap(old, to int64) bool { return atomic.CompareAndSwapInt64(&d.t, old, to) }

func (d *deadline) set(t int64) { d.t = t }

func (d *deadline) setAtomic(t int64) { atomic.StoreInt64(&d.t, t) }

// timeOf returns the time that a deadline names, whether or not it is negated.
func timeOf(deadline int64) int64 {
	if deadline < 0 {
		return -deadline
	}
	return deadline
}

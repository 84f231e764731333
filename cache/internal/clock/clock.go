// Package clock has the time of a cache: what time it is for entries, when nobody needs to ask, and
// deadlines, which readers and writers change atomically.
package clock

import (
	"math"
	"sync/atomic"
	"time"
)

// A Clock tells the time in nanoseconds. It is monotonic and begins at one tick. Reading the
// real clock takes longer than a whole lookup. So a clock keeps two times: a coarse one, which
// is never ahead, and the horizon.
type Clock struct {
	start    time.Time
	bubbled  bool  // it was made in a bubble of testing/synctest
	perTick  int64 // nanoseconds
	coarse   atomic.Int64
	horizon  atomic.Int64 // no later deadline passes before the driver moves the horizon on; driver.mu guards changes
	Stores   Readings     // for the deadlines of what is stored or touched
	Idleness Readings     // for those that a Get puts off
}

const (
	// HorizonAhead is how far beyond the next tick of the driver the horizon lies. If the
	// machine runs that tick ten seconds late, a value may be read past its deadline.
	HorizonAhead = int64(10 * time.Second)

	// ReadingsPerTick is how many deadlines are exact in a tick. After them the program is
	// busy: one deadline in readEvery reads the real clock. If each did, that would be a third
	// of a Set.
	ReadingsPerTick = 256
	readEvery       = 32

	// step is how far the coarse time must lag before a reading in a busy tick writes
	// it: all processors must then fetch it anew.
	step = int64(50 * time.Microsecond)
)

// Init sets the clock to one tick.
func (c *Clock) Init(tick time.Duration) {
	c.start, c.bubbled = time.Now().Add(-tick), inBubble()
	c.perTick = int64(tick)
	c.Tick()
}

// inBubble reports whether it is called in a bubble of testing/synctest: only there has the present
// time no monotonic reading.
func inBubble() bool { now := time.Now(); return now == now.Round(0) }

// Real returns the exact time.
func (c *Clock) Real() int64 { return int64(time.Since(c.start)) }

// Coarse returns a time that is never ahead, without reading the real clock.
func (c *Clock) Coarse() int64 { return c.coarse.Load() }

// Skip moves the clock on, for tests: as if the process had stood still.
func (c *Clock) Skip(by time.Duration) { c.start = c.start.Add(-by) }

// Now returns the exact time, to which it brings the coarse time if that lags behind.
func (c *Clock) Now() int64 { return c.advance(c.Real(), step) }

// MustNow is Now, but panics if the cache was made outside a bubble of testing/synctest and is
// used in one. There its clock shows a negative time, so values would never expire. It must be
// called without a lock.
func (c *Clock) MustNow() int64 {
	now := c.Now()
	if now < 0 {
		panic("cache: a cache that was made outside of a testing/synctest bubble is used in one: make it in the bubble")
	}
	return now
}

// RecentForDeadline returns the time from which a new deadline counts. The time is exact while r has
// readings left, and always if exact is set. Otherwise it may be early, by a tick at most
// unless the tick is late. The hash of the key, h, decides whether RecentForDeadline reads the real
// clock. With the last reading of r, RecentForDeadline returns last: then the driver must bring the next tick.
func (c *Clock) RecentForDeadline(r *Readings, h uint64, exact bool) (now int64, last bool) {
	if exact {
		return c.Now(), false
	}
	if r.Left() > 0 {
		now = c.Real()
		c.advance(now, 0)
		return now, r.use(now, c.perTick)
	}
	if (h>>20^uint64(c.coarse.Load()))%readEvery == 0 {
		c.advance(c.Real(), step)
	}
	// Not the reading just made: between calls time would go back.
	return c.coarse.Load(), false
}

// RecentForStore is RecentForDeadline for values that are stored, or returns false if RecentForDeadline has to read the
// real clock.
func (c *Clock) RecentForStore(h uint64) (now int64, ok bool) {
	now = c.coarse.Load()
	return now, c.Busy() && (h>>20^uint64(now))%readEvery != 0
}

// Busy reports whether the exact readings of the tick are used up.
func (c *Clock) Busy() bool { return c.Stores.Left() <= 0 }

// advance brings the coarse time up to date if it lags behind now by more than a step. It
// never sets the coarse time back, even if the caller was held up after it read the real
// clock. It returns now, or the coarse time if now was read outside the bubble.
func (c *Clock) advance(now, step int64) int64 {
	for {
		coarse := c.coarse.Load()
		switch {
		case now-coarse <= step:
			return now
		case c.bubbled && !inBubble(): // the page of package stats reads caches in bubbles too
			return coarse
		case c.coarse.CompareAndSwap(coarse, now):
			return now
		}
	}
}

// Tick is a tick of the driver.
func (c *Clock) Tick() {
	now := c.Real()
	c.advance(now, 0)
	c.Stores.refill(now, c.perTick)
	c.Idleness.refill(now, c.perTick)
}

// SetHorizon sets the horizon, for a driver that will tick at a given time. It may set the horizon
// back: the nearer it is, the fewer deadlines are compared with the real clock.
func (c *Clock) SetHorizon(at int64) { c.horizon.Store(at + HorizonAhead) }

// Far reports whether a deadline, or Never, lies beyond the horizon and so has not
// passed. Nearly all do, so this check is inlined.
func (c *Clock) Far(deadline int64) bool { return deadline > c.horizon.Load() }

// Passed reports whether a deadline has passed.
func (c *Clock) Passed(deadline int64) bool {
	return !c.Far(deadline) && (deadline <= c.coarse.Load() || deadline <= c.Now())
}

// A Readings counts the exact readings of the clock that are left in a tick.
type Readings struct {
	left atomic.Int32
	end  atomic.Int64 // of the tick; from then on there are new ones
}

// Left returns how many exact readings are left.
func (r *Readings) Left() int32 { return r.left.Load() }

// use takes a reading at the time now, and reports whether it was the last of its tick.
func (r *Readings) use(now, tick int64) (last bool) {
	if now >= r.end.Load() {
		r.refill(now, tick)
	}
	return r.left.Add(-1) == 0
}

func (r *Readings) refill(now, tick int64) {
	r.end.Store((now/tick + 1) * tick)
	r.left.Store(ReadingsPerTick)
}

// After returns the time d after now, or Never if there is none.
func After(now int64, d time.Duration) int64 {
	if t := now + int64(d); t > 0 {
		return t
	}
	return Never
}

// A Moment is a time in units of 17 ms, of which two years are told apart.
type Moment uint32

// MomentShift makes nanoseconds of a Moment.
const MomentShift = 24

// Moment returns the present Moment.
func (c *Clock) Moment() Moment { return Moment(uint64(c.Now()) >> MomentShift) }

// Until returns how long after m a later moment is.
func (m Moment) Until(later Moment) time.Duration {
	return time.Duration(later-m) << MomentShift
}

// Never is the deadline of an entry without one.
const Never = math.MaxInt64

// A Deadline is a time on the cache's clock. The deadline of an entry that was found expired is
// negated: the entry is dead, and no reader can bring it back. Readers use Get, Swap and
// SetAtomic. Set needs the lock of the shard for writing: an atomic store would double the cost
// of an overwrite.
type Deadline struct {
	_ [0]atomic.Int64 // for its alignment on 32 bits
	t int64
}

// Get returns the time, negated if the entry is dead.
func (d *Deadline) Get() int64 { return atomic.LoadInt64(&d.t) }

// Swap changes the time, unless it is not old any more.
func (d *Deadline) Swap(old, to int64) bool { return atomic.CompareAndSwapInt64(&d.t, old, to) }

// Set changes the time, under the lock of the shard for writing.
func (d *Deadline) Set(t int64) { d.t = t }

// SetAtomic is Set under the lock for reading.
func (d *Deadline) SetAtomic(t int64) { atomic.StoreInt64(&d.t, t) }

// TimeOf returns the time that a deadline names, whether or not it is negated.
func TimeOf(deadline int64) int64 {
	if deadline < 0 {
		return -deadline
	}
	return deadline
}

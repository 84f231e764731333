// Package clock has the clock of a cache, which seldom reads the real clock, and the deadlines of
// entries, which readers and writers change atomically.
package clock

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/bubble"
)

// A Clock tells the time in nanoseconds. It is monotonic and begins at one tick. Reading the
// real clock takes longer than a whole lookup. So a Clock keeps two times. The coarse time is never
// ahead of the real one. The horizon is so far ahead that no later deadline can have passed.
type Clock struct {
	start    time.Time
	bubbled  bool  // it was made in a bubble of testing/synctest
	endless  bool  // the horizon stays where EndHorizon has set it
	perTick  int64 // nanoseconds
	coarse   atomic.Int64
	horizon  atomic.Int64 // the driver moves it on before a later deadline passes; driver.mu guards changes
	Stores   Readings     // for the deadlines of values that are stored or touched
	Idleness Readings     // for the deadlines that a Get puts off
}

const (
	// HorizonAhead is how far beyond the next tick of the driver the horizon lies. If that tick
	// is late by more, a value may be read past its deadline.
	HorizonAhead = int64(10 * time.Second)

	// ReadingsPerTick is how many deadlines in a tick are exact. Each reads the real clock, which
	// is a third of a Set. After them the program is busy, and only one deadline in readEvery
	// reads it.
	ReadingsPerTick = 256
	readEvery       = 32

	// step is how far the coarse time must lag before a reading in a busy tick writes it: after
	// each write all processors must fetch it again.
	step = int64(50 * time.Microsecond)
)

// Init sets the clock to one tick.
func (c *Clock) Init(tick time.Duration) {
	c.start, c.bubbled = time.Now().Add(-tick), bubble.In()
	c.perTick = int64(tick)
	c.Tick()
}

// Real returns the exact time.
func (c *Clock) Real() int64 { return int64(time.Since(c.start)) }

// Coarse returns a time that is never ahead, without reading the real clock.
func (c *Clock) Coarse() int64 { return c.coarse.Load() }

// Skip moves the clock on, as if the process had been stopped for that time. It is for tests.
func (c *Clock) Skip(by time.Duration) { c.start = c.start.Add(-by) }

// Now returns the exact time. It sets the coarse time to that if the coarse time lags behind.
func (c *Clock) Now() int64 { return c.advance(c.Real(), step) }

// MustNow is Now, but panics if the cache was made outside a bubble of testing/synctest and is
// used in one. There its clock shows a negative time, so values would never expire. As it may
// panic, the caller must hold no lock.
func (c *Clock) MustNow() int64 {
	now := c.Now()
	if now < 0 {
		panic("cache: a cache that was made outside of a testing/synctest bubble is used in one: make it in the bubble")
	}
	return now
}

// RecentForDeadline returns the time from which a new deadline counts. The time is exact if exact is
// set or r has readings left. Otherwise it may be early, at most by a tick unless the driver is
// late, and the hash of the key, h, decides whether to read the real clock. RecentForDeadline
// reports whether it took the last reading of r: then the driver must bring the next tick.
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
	// If this returned the reading just made, the next call would return an earlier time.
	return c.coarse.Load(), false
}

// RecentForStore returns the coarse time, or false if the store of a key with hash h must read the
// real clock. It is the usual case of RecentForDeadline in a busy tick, and is inlined.
func (c *Clock) RecentForStore(h uint64) (now int64, ok bool) {
	now = c.coarse.Load()
	return now, c.Busy() && (h>>20^uint64(now))%readEvery != 0
}

// Busy reports whether the exact readings of the tick are used up.
func (c *Clock) Busy() bool { return c.Stores.Left() <= 0 }

// advance sets the coarse time to now if it lags behind by more than a step. It never sets the
// coarse time back, even if the caller was held up after it read the real clock. It returns now,
// or the coarse time if the clock was made in a bubble and now was read outside.
func (c *Clock) advance(now, step int64) int64 {
	for {
		coarse := c.coarse.Load()
		switch {
		case now-coarse <= step:
			return now
		case c.bubbled && !bubble.In(): // the page of package stats reads caches in bubbles too
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

// SetHorizon sets the horizon for a driver that will tick at a given time. It may set the horizon
// back: the nearer it is, the fewer deadlines are compared with the real clock.
func (c *Clock) SetHorizon(at int64) {
	if !c.endless {
		c.horizon.Store(at + HorizonAhead)
	}
}

// EndHorizon makes the horizon the last time before Never: for a cache that compares times with the clock
// which no tick comes for. Call it before the Clock is used.
func (c *Clock) EndHorizon() {
	c.endless = true
	c.horizon.Store(Never - 1)
}

// Far reports whether a deadline, or Never, lies beyond the horizon and so has not
// passed. Nearly all do, so this check is inlined.
func (c *Clock) Far(deadline int64) bool { return deadline > c.horizon.Load() }

// Passed reports whether a deadline has passed.
func (c *Clock) Passed(deadline int64) bool {
	return !c.Far(deadline) && (deadline <= c.coarse.Load() || deadline <= c.Now())
}

// Readings counts how many exact readings of the clock are left in a tick.
type Readings struct {
	left atomic.Int32
	end  atomic.Int64 // of the tick; then the next readings begin
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

// After returns the time d after now, or Never if that is beyond the last time.
func After(now int64, d time.Duration) int64 {
	if t := now + int64(d); t > 0 {
		return t
	}
	return Never
}

// A Moment is a time in units of 17 ms, from 1 on: 0 is none. It wraps around after two years.
type Moment uint32

// MomentShift is by how many bits to shift a Moment to the left for nanoseconds.
const MomentShift = 24

// Moment returns the present Moment.
func (c *Clock) Moment() Moment { return MomentOf(c.Now()) }

// MomentOf returns the Moment of a time.
func MomentOf(at int64) Moment { return Moment(uint64(at)>>MomentShift) + 1 }

// Until returns how long after m a later moment is.
func (m Moment) Until(later Moment) time.Duration {
	return time.Duration(later-m) << MomentShift
}

// Never is the deadline of an entry without one.
const Never = math.MaxInt64

// A Deadline is a time on the cache's clock. Whoever finds an entry expired negates its deadline:
// the entry is dead, and no reader can bring it back. Readers use Get, Swap and SetAtomic. Set
// needs the lock of the shard for writing: an atomic store would double the cost of an overwrite.
type Deadline struct {
	_ [0]atomic.Int64 // aligns t on 32-bit systems
	t int64
}

// Get returns the time, negated if the entry is dead.
func (d *Deadline) Get() int64 { return atomic.LoadInt64(&d.t) }

// Swap changes the time from old to another. It fails if the time is not old any more.
func (d *Deadline) Swap(old, to int64) bool { return atomic.CompareAndSwapInt64(&d.t, old, to) }

// Set changes the time, under the lock of the shard for writing.
func (d *Deadline) Set(t int64) { d.t = t }

// SetAtomic is Set under the lock for reading.
func (d *Deadline) SetAtomic(t int64) { atomic.StoreInt64(&d.t, t) }

// TimeOf returns the time of a deadline, whether or not it is negated.
func TimeOf(deadline int64) int64 {
	if deadline < 0 {
		return -deadline
	}
	return deadline
}

// This file has the clock: exact, coarse, and the horizon.

package cache

import (
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/bubble"
)

// A clock tells the time in nanoseconds. It is monotonic and begins at one tick.
// Reading the real clock takes longer than a whole lookup, so two times are kept
// beside it: a coarse one, which is never ahead, and the horizon.
type clock struct {
	start    time.Time
	inBubble bool  // it was made in a bubble of testing/synctest
	perTick  int64 // nanoseconds
	coarse   atomic.Int64
	horizon  atomic.Int64 // no later deadline passes before the driver moves the horizon on; driver.mu guards changes
	stores   readings     // for the deadlines of what is stored or touched
	idleness readings     // for those that a Get puts off
}

const (
	// near is how far beyond the next tick of the driver the horizon lies. A value is
	// read past its deadline only if that tick is later than this: if the machine does
	// not run a due timer for ten seconds.
	near = int64(10 * time.Second)

	// readingsPerTick is how many deadlines are exact in a tick. After that the
	// program is busy: the real clock is read for one in readEvery, or it would be
	// a third of what a Set costs.
	readingsPerTick = 256
	readEvery       = 32

	// step is how far the coarse time must lag before a reading in a busy tick writes
	// it: all processors must then fetch it anew.
	step = int64(50 * time.Microsecond)

	// apart is the shortest difference between the coarse time and a reading that may mean a
	// reading on the other side of a bubble. A bubble of testing/synctest begins in the year
	// 2000.
	apart = int64(time.Minute)
)

func (c *clock) init(tick time.Duration) {
	c.start = time.Now().Add(-tick)
	c.inBubble = bubble.Inside()
	c.distrust()
	c.perTick = int64(tick)
	c.tick()
}

// now returns the exact time, or the coarse one on the other side of a bubble: the page of
// package stats reads the caches in bubbles too.
func (c *clock) now() int64 {
	now, _ := c.look()
	return now
}

// look is now, and also reports whether the caller is on the other side of a bubble.
func (c *clock) look() (now int64, away bool) {
	read := int64(time.Since(c.start))
	now = c.advance(read, step)
	return now, now != read
}

// mustBeHome panics on the other side of a bubble, where a value would not expire at its time.
// The runtime would end the process if the driver's timer were touched there.
func (c *clock) mustBeHome() {
	switch bubble.SideOf(c.start) {
	case bubble.Entered:
		panic("cache: a cache that was made outside of a testing/synctest bubble is used in one, where its values would not expire: make it in the bubble")
	case bubble.Left:
		panic("cache: a cache that was made in a testing/synctest bubble is used outside: close it in the bubble, and make another")
	}
}

// away reports whether the caller is on the other side of a bubble.
func (c *clock) away() bool { return bubble.SideOf(c.start) != bubble.Home }

// recent returns the time from which a new deadline counts. It is exact while r has
// readings left, and always if exact is set. Otherwise it may be early, by at most a tick
// if the tick is not late; h, the hash of a key, decides whether it reads the real clock.
// If recent took the last reading of r, or is on the other side of a bubble, it returns odd:
// then see timing.oddReading.
func (c *clock) recent(r *readings, h uint64, exact bool) (now int64, odd bool) {
	if exact {
		return c.look()
	}
	if r.left.Load() > 0 {
		read := int64(time.Since(c.start))
		now = c.advance(read, 0)
		return now, now != read || r.take(now, c.perTick)
	}
	if (h>>20^uint64(c.coarse.Load()))%readEvery == 0 {
		_, odd = c.look()
	}
	// Not the reading just made: between calls time would go back.
	return c.coarse.Load(), odd
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
// clock. It returns now, or the coarse time if now was read on the other side of a bubble.
func (c *clock) advance(now, step int64) int64 {
	if uint64(now-c.coarse.Load()) <= uint64(step) {
		return now
	}
	return c.catchUp(now, step)
}

// catchUp is the rest of advance, which is inlined.
func (c *clock) catchUp(now, step int64) int64 {
	for {
		coarse := c.coarse.Load()
		ahead := now - coarse
		switch {
		case (ahead > apart || ahead < -apart) && c.away():
			return coarse
		case ahead <= step:
			return now
		case c.coarse.CompareAndSwap(coarse, now):
			return now
		}
	}
}

// tick is a tick of the driver.
func (c *clock) tick() {
	now := int64(time.Since(c.start))
	c.advance(now, 0)
	c.stores.renew(now, c.perTick)
	c.idleness.renew(now, c.perTick)
}

// trust sets the horizon, for a driver that will tick at a given time. It may set the horizon
// back: the nearer it is, the fewer deadlines are compared with the real clock.
func (c *clock) trust(at int64) { c.horizon.Store(at + near) }

// distrust takes the horizon as far as all times, for a driver that does not tick: values may be due
// then though none expires.
func (c *clock) distrust() { c.horizon.Store(never - 1) }

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

// take takes a reading, whose time is now, and reports whether it was the last of its
// tick.
func (r *readings) take(now, tick int64) (last bool) {
	if now >= r.end.Load() {
		r.renew(now, tick)
	}
	return r.left.Add(-1) == 0
}

func (r *readings) renew(now, tick int64) {
	r.end.Store((now/tick + 1) * tick)
	r.left.Store(readingsPerTick)
}

// nextTick returns the first tick after now.
func (c *clock) nextTick() int64 { return c.now()/c.perTick + 1 }

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

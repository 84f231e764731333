// This file wakes the cache up when entries expire.

package cache

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"golang.org/x/sync/semaphore"
)

// A driver wakes up when the ring of some shard has tasks to visit, and not at all
// while no entry expires. It is a timer of the runtime, not a goroutine: between ticks
// there is none. The timer holds a cache without OnRemove weakly, so that it is
// collected when nobody else holds it; then the timer goes off once, for nothing.
type driver struct {
	clock *clock
	gate  gate // admits ticks until Close

	// alarm is the tick at which the driver is going to visit the shards, or noTick.
	//
	// Setting a task lowers the next visit of its shard and then reads alarm. A tick
	// raises alarm and then reads the shards. So one of them sees the other.
	alarm atomic.Int64

	// working is held by the tick that expires entries, which takes long when callbacks
	// are behind. Other ticks meanwhile only advance the clock, on which exact reads
	// depend.
	working sync.Mutex

	// mu guards what follows, and changes of alarm. It may be taken with the lock of
	// a shard held.
	mu      sync.Mutex
	timer   *time.Timer // nil before the first deadline
	timerAt int64       // the tick for which timer is set, or noTick
	closed  bool

	newTimer func(wait time.Duration) *time.Timer // whose function is a tick
}

// noTick is a tick that never comes.
const noTick = math.MaxInt64

// initDriver gives the cache a driver, which has no timer yet. A cache with OnRemove is kept
// alive by its timer while that is set, as OnRemove must be called for what expires.
func (c *shared[K, V]) initDriver(onRemove bool) {
	c.timing.driver.clock = &c.timing.clock
	c.timing.driver.alarm.Store(noTick)
	c.timing.driver.timerAt = noTick
	if onRemove {
		c.timing.driver.newTimer = func(wait time.Duration) *time.Timer { return time.AfterFunc(wait, c.tickNow) }
		return
	}
	w := weak.Make(c)
	c.timing.driver.newTimer = func(wait time.Duration) *time.Timer {
		return time.AfterFunc(wait, func() {
			if c := w.Value(); c != nil {
				c.tickNow()
			}
		})
	}
}

// wakeBy makes sure that the driver is awake by a tick.
func (d *driver) wakeBy(tick int64) {
	if tick < d.alarm.Load() {
		d.lowerAlarm(tick)
	}
}

// whileOpen calls f with mu held, unless the driver is closed.
func (d *driver) whileOpen(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		f()
	}
}

func (d *driver) lowerAlarm(tick int64) {
	d.whileOpen(func() {
		if tick >= d.alarm.Load() {
			return
		}
		d.alarm.Store(tick)
		if at := d.wakeAt(tick); at < d.timerAt {
			d.setTimer(at)
		}
	})
}

// wakeAt returns the tick at which to wake up for a visit: that of the visit, or about ten
// seconds before if it is far off. The earlier tick only moves the horizon, which lies ten
// seconds beyond the next tick. So until then the horizon is before the visit, and reads of
// entries that expire after the visit need not read the clock.
func (d *driver) wakeAt(visit int64) int64 {
	ahead := near/d.clock.perTick + 2
	if visit == noTick || visit-ahead <= d.clock.now()/d.clock.perTick {
		return visit
	}
	return visit - ahead
}

// setTimer sets the timer for a tick. mu must be held.
func (d *driver) setTimer(tick int64) {
	d.timerAt = tick
	if tick == noTick {
		d.timer.Stop()
		d.clock.distrust()
		return
	}
	at := tick * d.clock.perTick
	d.clock.trust(at)
	wait := time.Duration(at - d.clock.now())
	if d.timer == nil {
		d.timer = d.newTimer(wait)
		return
	}
	d.timer.Reset(wait)
}

// tickNow is one tick: it advances the clock, sets the next tick, and expires entries.
func (c *shared[K, V]) tickNow() {
	if !c.timing.driver.gate.enter() {
		return // closed
	}
	defer c.timing.driver.gate.exit()
	c.timing.clock.tick()
	visiting := c.timing.driver.working.TryLock()
	c.timing.driver.beginTick(visiting)
	if visiting {
		defer c.timing.driver.working.Unlock()
		c.timing.driver.endTick(c.expire())
	}
}

// beginTick sets the timer for the next tick, which advances the clock while this one
// expires entries. If this one visits the shards, beginTick raises the alarm.
func (d *driver) beginTick(visiting bool) {
	d.whileOpen(func() {
		if visiting {
			d.alarm.Store(noTick)
		}
		d.setTimer(d.clock.nextTick())
	})
}

// endTick sets the alarm for the next visit of any shard, or for an earlier one that was
// set while the shards were visited.
func (d *driver) endTick(next int64) {
	d.whileOpen(func() {
		next = min(next, d.alarm.Load())
		d.alarm.Store(next)
		d.setTimer(d.wakeAt(next))
	})
}

// mustStopHere panics on the other side of a bubble if there is a timer to stop.
func (d *driver) mustStopHere() {
	d.mu.Lock()
	stops := d.timer != nil
	d.mu.Unlock()
	if stops {
		d.clock.mustBeHome()
	}
}

// stop prevents further ticks. One may still be running.
func (d *driver) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.alarm.Store(math.MinInt64) // so that nobody wakes it
	if d.timer != nil {
		d.timer.Stop()
	}
}

// A gate counts the ticks under way, so that Close can admit no more and wait for the rest.
type gate struct {
	closed atomic.Bool
	inside *semaphore.Weighted // a unit for each that is inside
}

const everyone = math.MaxInt64

func (g *gate) init() { g.inside = semaphore.NewWeighted(everyone) }

// enter reports whether the gate is open; if so, exit must follow.
func (g *gate) enter() bool {
	if !g.inside.TryAcquire(1) {
		return false // close waits, and the gate is closed
	}
	// Not before TryAcquire: close closes the gate first, and then waits for those inside.
	if g.closed.Load() {
		g.inside.Release(1)
		return false
	}
	return true
}

func (g *gate) exit() { g.inside.Release(1) }

func (g *gate) close() { g.closed.Store(true) }

// wait waits until all have left a closed gate.
func (g *gate) wait(ctx context.Context) error {
	if err := g.inside.Acquire(ctx, everyone); err != nil {
		return context.Cause(ctx)
	}
	g.inside.Release(everyone)
	return nil
}

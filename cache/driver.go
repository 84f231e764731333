// This file has the driver, a timer that ticks when entries may have expired; and the gate, which keeps
// ticks out of a closed cache.

package cache

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"golang.org/x/sync/semaphore"
)

// A driver wakes up when the ring of some shard has tasks to visit, and not at all
// while no entry has a deadline. It is a timer of the runtime, and no goroutine runs between ticks.
// The timer refers to the cache weakly, so that the cache is collected when nobody else
// refers to it; then the timer goes off once, for nothing.
type driver struct {
	// alarm is the tick at which the driver is going to visit the shards, or noTick.
	//
	// Setting a task lowers the next visit of its shard and then reads alarm. A tick
	// raises alarm and then reads the shards. So one of them sees the other.
	alarm atomic.Int64

	// working is held by the tick that expires entries, which takes long when callbacks are
	// behind. Meanwhile other ticks only advance the clock, as deadlines are compared with it.
	working sync.Mutex

	// mu guards what follows, and changes of alarm. It may be taken with the lock of
	// a shard held.
	mu       sync.Mutex
	timer    *time.Timer // nil before the first deadline
	wakeTick int64       // the tick for which timer is set, or noTick
	closed   bool

	newTimer func(wait time.Duration) *time.Timer // whose function is a tick

	anchor *anchor // nil without OnRemove
}

// An anchor keeps a cache with OnRemove alive while some entry waits to expire, as OnRemove must be
// called for it. The timer of the driver refers to the anchor.
type anchor struct {
	find func() any // returns the cache, without keeping it alive

	mu     sync.Mutex // may be taken with the lock of a shard held
	shards int        // in which an entry waits
	cache  any        // nil if shards is 0
}

// note counts a shard that has its first entry that waits to expire, or no longer has one.
func (a *anchor) note(waits bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if waits {
		a.shards++
		a.cache = a.find()
	} else if a.shards--; a.shards == 0 {
		a.cache = nil
	}
}

// leadSteps is how often the driver moves the horizon while entries are due but not expired.
const leadSteps = 16

// noTick is a tick that never comes.
const noTick = math.MaxInt64

// init makes a driver, which has no timer yet. tick must not keep the cache alive; nor must anchor,
// which is nil without OnRemove.
func (d *driver) init(tick func(), anchor *anchor) {
	d.alarm.Store(noTick)
	d.wakeTick = noTick
	d.anchor = anchor
	d.newTimer = func(wait time.Duration) *time.Timer {
		return time.AfterFunc(wait, func() {
			tick()
			runtime.KeepAlive(anchor)
		})
	}
}

// wakeBy makes sure that the driver is awake by a tick.
func (t *timing) wakeBy(tick int64) {
	if tick < t.driver.alarm.Load() {
		t.lowerAlarm(tick)
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

func (t *timing) lowerAlarm(tick int64) {
	d := &t.driver
	d.whileOpen(func() {
		if tick >= d.alarm.Load() {
			return
		}
		d.alarm.Store(tick)
		if at := t.wakeAt(tick); at < d.wakeTick {
			t.setTimer(at)
		}
	})
}

// wakeAt returns the tick at which to wake up for a visit: its own, or one about ten seconds earlier
// if it is far off. The earlier tick only moves the horizon, which lies ten seconds beyond the next
// tick. Until then the horizon is before the visit, so reads of entries that expire after the visit
// need not read the clock. With Refresh that must also hold for the times at which entries are due:
// once the first may be due, the horizon moves on in steps.
func (t *timing) wakeAt(visit int64) int64 {
	if visit == noTick {
		return noTick
	}
	now, lead := t.clock.Now()/int64(t.clock.PerTick), t.lead.Load()/int64(t.clock.PerTick)
	if early := visit - clock.HorizonAhead/int64(t.clock.PerTick) - 2 - lead; early > now {
		return early
	}
	if lead == 0 {
		return visit
	}
	return min(visit, now+lead/leadSteps+1)
}

// setTimer sets the timer for a tick. driver.mu must be held.
func (t *timing) setTimer(tick int64) {
	d := &t.driver
	d.wakeTick = tick
	if tick == noTick {
		d.timer.Stop()
		return
	}
	at := tick * int64(t.clock.PerTick)
	t.clock.SetHorizon(at)
	wait := time.Duration(at - t.clock.Now())
	if d.timer == nil {
		d.timer = d.newTimer(wait)
		return
	}
	d.timer.Reset(wait)
}

// beginTick sets the timer for the next tick, which advances the clock while the present one
// expires entries. If the present one visits the shards, beginTick raises the alarm.
func (t *timing) beginTick(visiting bool) {
	t.driver.whileOpen(func() {
		if visiting {
			t.driver.alarm.Store(noTick)
		}
		t.setTimer(t.nextTick())
	})
}

// endTick sets the alarm for the next visit of any shard, or for an earlier one that was
// set while the shards were visited.
func (t *timing) endTick(next int64) {
	t.driver.whileOpen(func() {
		next = min(next, t.driver.alarm.Load())
		t.driver.alarm.Store(next)
		t.setTimer(t.wakeAt(next))
	})
}

// nextTick returns the first tick after now.
func (t *timing) nextTick() int64 { return t.clock.Now()/int64(t.clock.PerTick) + 1 }

// stopDriver prevents further ticks. One may still be running.
func (t *timing) stopDriver() {
	d := &t.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.alarm.Store(math.MinInt64) // so that nobody wakes it
	if d.timer != nil {
		d.timer.Stop()
	}
}

// A gate counts the ticks under way. Close lets no more in, and waits for those inside.
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

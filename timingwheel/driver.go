package timingwheel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

// A driver wakes up for the next visit of a shard, and not at all while there is
// none to come. It is a timer of the runtime, not a goroutine: between visits
// there is none. That timer holds the anchors, and these hold the wheel while it
// has timers, so that they fire though nobody else holds it. A wheel without timers
// is collected, whatever the alarm is set for.
type driver struct {
	// alarm is the tick for which the timer is set, or awake, or idle.
	//
	// Who sets a timer writes the next visit of its shard and then looks at
	// alarm; who sets the alarm writes it and then looks at the shards. So one
	// of them sees the other, and nobody is late.
	alarm atomic.Int64

	mu     sync.Mutex // guards what follows, and changes of alarm
	timer  *time.Timer
	closed bool
}

// awake is the alarm while shards are being visited, and after Stop. The next
// visits are looked at after that anyway.
const awake = math.MinInt64

func (w *wheel) initDriver() { w.alarm.Store(idle) }

// wakeBy makes sure that the driver is awake by a tick. The shard's next visit
// must have been written before.
func (w *wheel) wakeBy(tick int64) {
	if tick >= w.alarm.Load() {
		return
	}
	w.driver.mu.Lock()
	defer w.driver.mu.Unlock()
	if tick < w.alarm.Load() {
		w.setAlarm()
	}
}

// wake is called when the alarm goes off. Two can overlap, when the alarm is set anew just as
// it goes off: then they share the work, and each sets the alarm when it is done.
func (w *wheel) wake() {
	w.driver.mu.Lock()
	w.alarm.Store(awake)
	w.driver.mu.Unlock()
	defer w.sleep() // whatever happens
	w.advance()
}

// sleep is the end of wake.
func (w *wheel) sleep() {
	w.driver.mu.Lock()
	defer w.driver.mu.Unlock()
	if !w.driver.closed {
		w.setAlarm()
	}
}

// rearm sets the alarm anew after many timers have gone, so that it is not for one
// of those.
func (w *wheel) rearm() {
	w.driver.mu.Lock()
	defer w.driver.mu.Unlock()
	if w.alarm.Load() != awake {
		w.setAlarm()
	}
}

// setAlarm sets the timer for the next visit, if there is one. w.driver.mu must be
// held.
func (w *wheel) setAlarm() {
	next := w.nextVisit()
	for {
		w.alarm.Store(next)
		again := w.nextVisit()
		if again >= next {
			break
		}
		next = again
	}
	if next == idle {
		if w.driver.timer != nil {
			w.driver.timer.Stop()
		}
		return
	}
	wait := time.Duration(w.of(next) - w.now())
	if w.driver.timer == nil {
		w.driver.timer = time.AfterFunc(wait, w.waker())
		return
	}
	w.driver.timer.Reset(wait)
}

// waker returns what the timer calls. It holds the wheel by its anchors alone.
func (w *wheel) waker() func() {
	weakly, anchors := weak.Make(w), w.anchors
	return func() {
		if w := weakly.Value(); w != nil {
			w.wake()
		}
		runtime.KeepAlive(anchors)
	}
}

// stopDriver sees to it that no visit begins any more. One may still be under
// way.
func (w *wheel) stopDriver() {
	w.checkUse()
	w.driver.mu.Lock()
	defer w.driver.mu.Unlock()
	if !w.driver.closed {
		w.driver.closed = true
		close(w.done)
	}
	w.alarm.Store(awake)
	if w.driver.timer != nil {
		w.driver.timer.Stop()
	}
}

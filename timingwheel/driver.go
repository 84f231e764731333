package timingwheel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

// A driver wakes up for the next visit of a shard, and sleeps while no visit is
// due. It is a timer of the runtime, so there is no goroutine between visits. The
// runtime's timer references the anchors, and these reference the wheel while it has
// timers: they fire even if the program has dropped the wheel. A wheel without timers
// can be garbage-collected even while the alarm is set.
type driver struct {
	// alarm is the tick for which the runtime's timer is set, or awake, or never.
	//
	// A goroutine that sets a timer writes the next visit of the shard and then
	// loads alarm; one that sets the alarm stores it and then loads the next
	// visits. So at least one of the two sees the other's write, and no visit is
	// missed.
	alarm atomic.Int64

	mu     sync.Mutex // guards what follows, and changes of alarm
	timer  *time.Timer
	closed bool
}

// awake is the value of alarm after Stop, and while shards are being visited: the driver
// looks at the next visits afterwards anyway.
const awake = math.MinInt64

func (w *wheel) initDriver() { w.alarm.Store(never) }

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

// wake visits the shards when the alarm goes off. Two calls overlap if the alarm is
// set again just as it goes off: then they share the work, and each sets the alarm
// when it is done.
func (w *wheel) wake() {
	w.driver.mu.Lock()
	w.alarm.Store(awake)
	w.driver.mu.Unlock()
	defer w.sleep() // also after a panic
	w.advance()
}

// advance moves all shards on to the present tick. It takes the shards in turn, a
// batch of each, so that it holds no lock for long.
func (w *wheel) advance() {
	w.advancing.Add(1)
	defer w.advanced()
	for busy := true; busy; {
		busy = false
		tick := w.ticks(w.now())
		for _, p := range w.madeShards() {
			if p.nextVisit() <= tick {
				busy = !p.visit(tick) || busy
			}
			if p.ready() {
				w.dispatch()
			}
		}
		if busy {
			runtime.Gosched()
		} else {
			w.reach(tick)
		}
	}
	w.shrink()
}

// shrinkWithin is how long all shards together take to free memory, and how long a shard
// without timers keeps its ring.
const shrinkWithin = 4 * time.Second

// shrink shrinks some of the shards that have become sparse or empty; the others are
// visited again at the next tick. When timers fire evenly, all shards become sparse at
// the same time, and shrinking them all would make that tick late.
func (w *wheel) shrink() {
	shards := w.madeShards()
	tick := w.ticks(w.now())
	most := 1 + int(int64(len(shards))*w.tick/int64(shrinkWithin))
	for _, p := range shards {
		if most > 0 && p.shrink(tick) {
			most--
		}
	}
}

// nextVisit returns the tick by which the driver has to be awake, or never.
func (w *wheel) nextVisit() int64 {
	next := int64(never)
	for _, p := range w.madeShards() {
		next = min(next, p.nextVisit())
	}
	if w.refused.Load() && w.anyReady() {
		next = min(next, w.ticks(w.now())+1)
	}
	return next
}

// sleep ends wake: it sets the alarm for the next visit.
func (w *wheel) sleep() {
	w.driver.mu.Lock()
	defer w.driver.mu.Unlock()
	if !w.driver.closed {
		w.setAlarm()
	}
}

// rearm sets the alarm again after many timers were removed, so that it does not go
// off for one of them.
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
	if next == never {
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

// waker returns what the runtime's timer calls. It references the wheel strongly only
// through the anchors.
func (w *wheel) waker() func() {
	weakly, anchors := weak.Make(w), w.anchors
	return func() {
		if w := weakly.Value(); w != nil {
			w.wake()
		}
		runtime.KeepAlive(anchors)
	}
}

// stopDriver prevents further visits. One may still be running when it returns.
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

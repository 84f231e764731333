package timingwheel

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A wheel is what [TimingWheel] and [Timers] have in common: a clock, a driver
// that advances the shards, and workers that call what is due. It knows shards
// only as parts.
type wheel struct {
	clock
	driver
	dispatcher
	parts      atomic.Pointer[[]part] // the shards made so far; written with driver.mu held
	anchors    []*wheel               // by shard: the wheel while the shard has timers, or nil
	done       chan struct{}          // closed by Stop
	unregister func()

	folding sync.Mutex // guards folded, and that shards are counted there or in parts
	folded  stats.WheelSnapshot
}

// A part is a shard as the driver and the workers see it.
type part interface {
	nextVisit() int64
	visit(tick int64) (done bool)
	shrink() (done bool)
	ready() bool
	backlog() int64
	callNext() bool
	addTo(*stats.WheelSnapshot)
	close()
}

const (
	// shardsPerProc is enough for two goroutines seldom to meet.
	shardsPerProc = 16
	maxShards     = 256

	// maxSlots is the most slots that all shards together have in a level: a
	// megabyte of list heads.
	maxSlots = 1 << 18
)

// reach is how far away a timer can be at least. A ring counts 2³² revolutions.
const reach = 10 * 365 * 24 * time.Hour

// ringSlots returns the number of slots of a wheel's rings, for the number that was
// asked for.
func ringSlots(slots int, interval time.Duration) int {
	slots = 1 << bits.Len(uint(min(slots, MaxSlots)-1))
	for interval < (reach>>32)/time.Duration(slots) {
		slots *= 2
	}
	return slots
}

// shardCount returns the number of shards, a power of two, whose rings have a
// number of slots.
func shardCount(slots, procs int) int {
	n := 1 << bits.Len(uint(shardsPerProc*procs-1))
	for n > maxShards || n > 1 && n*slots > maxSlots {
		n /= 2
	}
	return n
}

// init makes a wheel that is to have a number of shards.
func (w *wheel) init(interval time.Duration, shards int, o options) {
	w.clock = newClock(interval)
	w.anchors = make([]*wheel, shards)
	w.done = make(chan struct{})
	w.initDriver()
	w.initDispatcher(o)
}

// advance visits what there is to visit up to now. It takes the shards in turn, a
// batch of each, so that no shard has the driver in its lock for long.
func (w *wheel) advance() {
	for busy := true; busy; {
		busy = false
		tick := w.ticks(w.now())
		for _, p := range w.madeParts() {
			if p.nextVisit() <= tick {
				busy = !p.visit(tick) || busy
			}
			if p.ready() {
				w.dispatch()
			}
		}
		if busy {
			runtime.Gosched()
		}
	}
	w.shrink()
}

// shrinkWithin is how long all shards together take to give memory back.
const shrinkWithin = 4 * time.Second

// shrink has some shards give memory back whose timers have gone; the others want
// to be visited at the next tick. When timers fire evenly, all shards come to that
// at the same time, and together they would be late for that tick.
func (w *wheel) shrink() {
	parts := w.madeParts()
	most := 1 + len(parts)*int(w.tick)/int(shrinkWithin)
	for _, p := range parts {
		if most > 0 && p.shrink() {
			most--
		}
	}
}

// nextVisit returns the tick by which the driver has to be awake, or idle.
func (w *wheel) nextVisit() int64 {
	next := int64(idle)
	for _, p := range w.madeParts() {
		next = min(next, p.nextVisit())
	}
	if w.refused.Load() && w.anyReady() {
		next = min(next, w.ticks(w.now())+1)
	}
	return next
}

// stats returns what the wheel has done since it was made.
func (w *wheel) stats() stats.WheelSnapshot {
	w.folding.Lock()
	total := w.folded
	for _, p := range w.madeParts() {
		p.addTo(&total)
	}
	w.folding.Unlock()
	total.Running = w.pool.Running()
	total.Panics = w.pool.Panics()
	if w.offers != nil {
		total.Panics += w.offers.Panics()
	}
	return total
}

// register makes the statistics of a wheel known to the process, without keeping
// it alive.
func register[W any](name string, wheel *W, take func(*W) stats.WheelSnapshot) (unregister func()) {
	weakly := weak.Make(wheel)
	_, unregister = stats.Register(stats.WheelSource{Name: name, Snapshot: func() (s stats.WheelSnapshot, alive bool) {
		if w := weakly.Value(); w != nil {
			return take(w), true
		}
		return s, false
	}})
	runtime.AddCleanup(wheel, func(unregister func()) { unregister() }, unregister)
	return unregister
}

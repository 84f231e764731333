package timingwheel

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A wheel is what [TimingWheel] and [Timers] have in common: a clock, a driver
// that advances the shards, and workers that call what is due. It knows its shards
// as anyShard only.
type wheel struct {
	clock
	driver
	dispatcher
	shardList  atomic.Pointer[[]anyShard] // the shards made so far; written with driver.mu held
	anchors    []*wheel                   // by shard: the wheel while the shard has timers, or nil
	done       chan struct{}              // closed by Stop
	unregister func()

	folding sync.Mutex // guards folded; with it held, each shard counts in folded or is in shardList
	folded  stats.WheelSnapshot
}

// anyShard is a shard as the driver and the workers see it.
type anyShard interface {
	nextVisit() int64
	visit(tick int64) (done bool)
	shrink(tick int64) (done bool)
	ready() bool
	backlog() int64
	oldest() int64
	callNext(upTo int64) bool
	addTo(*stats.WheelSnapshot)
	close()
}

const (
	// shardsPerProc is high enough that two goroutines seldom use the same shard.
	shardsPerProc = 16
	maxShards     = 256

	// maxSlots is the most slots that all shards together have in a level: a
	// megabyte of list heads.
	maxSlots = 1 << 18
)

// longestDelay is the delay that every wheel must allow. A ring counts 2³² revolutions.
const longestDelay = 10 * 365 * 24 * time.Hour

// ringSlots returns the number of slots of each ring of a wheel, given the number
// that the user asked for.
func ringSlots(slots int, interval time.Duration) int {
	slots = 1 << bits.Len(uint(min(slots, MaxSlots)-1))
	for interval < (longestDelay>>32)/time.Duration(slots) {
		slots *= 2
	}
	return slots
}

// shardCount returns the number of shards, a power of two, if each ring has the given
// number of slots.
func shardCount(slots, procs int) int {
	n := 1 << bits.Len(uint(shardsPerProc*procs-1))
	for n > maxShards || n > 1 && n*slots > maxSlots {
		n /= 2
	}
	return n
}

// init prepares a wheel for the given number of shards.
func (w *wheel) init(interval time.Duration, shards int, o options) {
	w.clock = newClock(interval)
	w.anchors = make([]*wheel, shards)
	w.done = make(chan struct{})
	w.initDriver()
	w.initDispatcher(o)
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

// stats returns the statistics of the wheel since it was made.
func (w *wheel) stats() stats.WheelSnapshot {
	w.folding.Lock()
	total := w.folded
	for _, p := range w.madeShards() {
		p.addTo(&total)
	}
	w.folding.Unlock()
	total.Running = w.pool.Running()
	total.Panics = w.pool.Panics()
	return total
}

// register registers a wheel with package stats, without keeping it alive.
func register[W any](name string, wheel *W, take func(*W) stats.WheelSnapshot, settings sources.WheelSettings) (unregister func()) {
	weakly := weak.Make(wheel)
	_, unregister = sources.Register(sources.Wheel[stats.WheelSnapshot]{Name: name, Settings: settings, Snapshot: func() (s stats.WheelSnapshot, alive bool) {
		if w := weakly.Value(); w != nil {
			return take(w), true
		}
		return s, false
	}})
	runtime.AddCleanup(wheel, func(unregister func()) { unregister() }, unregister)
	return unregister
}

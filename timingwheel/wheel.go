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
	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
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
	slots      int                        // of the ring of each shard
	done       chan struct{}              // closed by Stop
	unregister func()
	quota      quota

	folding sync.Mutex // guards folded; with it held, each shard counts in folded or is in shardList
	folded  stats.WheelSnapshot
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
	slots = 1 << bits.Len(uint(min(slots, ring.MaxSlots)-1))
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

// init prepares a wheel for the given number of shards, and of slots of the ring of each.
func (w *wheel) init(interval time.Duration, slots, shards int, o options) {
	w.slots = slots
	w.quota.limit = int64(o.limit)
	w.clock = newClock(interval)
	w.anchors = make([]*wheel, shards)
	w.done = make(chan struct{})
	w.initDriver()
	w.initDispatcher(o)
}

// stop removes all timers, lets no further callback begin, and drops the shards.
func stop[S any](w *wheel, shards []atomic.Pointer[S]) {
	w.stopDriver()
	for _, p := range w.madeShards() {
		p.close()
	}
	w.fold()
	for i := range shards {
		shards[i].Store(nil)
	}
	w.unregister()
}

// stopped reports whether Stop was called.
func (w *wheel) stopped() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
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

// A quota counts the timers of a wheel that has a limit.
type quota struct {
	limit int64 // 0 = none
	used  atomic.Int64
}

// acquire counts one more timer, and reports false if the wheel is full.
func (q *quota) acquire() bool {
	if q.limit == 0 {
		return true
	}
	for {
		used := q.used.Load()
		if used >= q.limit {
			return false
		}
		if q.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

// release counts n timers less.
func (q *quota) release(n int) {
	if q.limit > 0 {
		q.used.Add(-int64(n))
	}
}

// This file has Elastic: after each collection of garbage it moves the limit, so that the process stays
// below its memory limit.

package cache

import (
	"math"
	"runtime"
	"runtime/metrics"
	"weak"

	"github.com/pinwheel-cache/pinwheel/internal/bubble"
)

const (
	// liveShare is how much of the memory limit may be live. The collector needs the rest: the less it
	// has, the more often it runs.
	liveShare = 0.75

	// While the collector takes more than busyShare of the processors, less may be live, down to lessShare of
	// that. It does where free memory is in pieces: an eviction leaves a hole, which only an object of about
	// the same size can fill.
	busyShare = 0.1
	lessShare = 0.85

	// gain is by how much more a cache moves than it would if all that is live were its entries, as they
	// are only a part. With less than 2 the live heap comes closer each time, even if they are all.
	gain = 1.5

	// leastShare is the part of its limit that a cache keeps, however little memory there is.
	leastShare = 1.0 / 16

	// elasticStep is the least change of a limit, as a part of it.
	elasticStep = 1.0 / 64
)

// makeElastic makes each collection fit the limit, until the cache is closed or collected itself. A
// cache in a bubble of testing/synctest stays as it is, as its timers may not be used from outside.
func makeElastic[K comparable, V any](c *Cache[K, V]) {
	if bubble.In() {
		return
	}
	w, g := weak.Make(c), new(gauge)
	afterGC(func() bool {
		c := w.Value()
		if c == nil || c.gate.closed.Load() {
			return false
		}
		if room, limited := g.room(); limited {
			c.fit(room)
		}
		return true
	})
}

// afterGC calls f in a goroutine after the next collection, and, as long as it returns true, after the next
// one that begins when f has returned. So what f frees counts no more when it is called again.
func afterGC(f func() bool) {
	runtime.AddCleanup(new(collected), func(f func() bool) {
		go func() {
			if f() {
				afterGC(f)
			}
		}()
	}, f)
}

// collected is garbage that the next collection finds. It has a pointer, as tiny objects without one share
// a block.
type collected struct{ _ *collected }

// A gauge reads from the runtime how much room there is, time and again.
type gauge struct{ collecting, all float64 } // seconds of the processors, of the collector and of all

// heapMetrics are what a gauge reads: the memory limit, the live heap after the last collection; the time of the
// collector, what of it nobody else had a use for, and that of all; and all memory, with what of it is not beside
// the heap, or has gone back to the system.
var heapMetrics = []string{
	"/gc/gomemlimit:bytes", "/gc/heap/live:bytes",
	"/cpu/classes/gc/total:cpu-seconds", "/cpu/classes/gc/mark/idle:cpu-seconds", "/cpu/classes/total:cpu-seconds",
	"/memory/classes/total:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes",
	"/memory/classes/heap/free:bytes", "/memory/classes/heap/released:bytes",
}

// room returns by what factor the live heap may grow, or, below 1, must shrink. With 0 the memory beside the heap
// takes all. limited is false without a memory limit.
func (g *gauge) room() (room float64, limited bool) {
	m := make([]metrics.Sample, len(heapMetrics))
	for i, name := range heapMetrics {
		m[i].Name = name
	}
	metrics.Read(m)
	before := *g
	*g = gauge{m[2].Value.Float64() - m[3].Value.Float64(), m[4].Value.Float64()}
	limit, live := m[0].Value.Uint64(), m[1].Value.Uint64()
	if limit == math.MaxInt64 {
		return 0, false
	}
	beside := m[5].Value.Uint64() // such as stacks
	for _, s := range m[6:] {
		beside -= min(beside, s.Value.Uint64())
	}
	share := liveShare
	if busy := (g.collecting - before.collecting) / (g.all - before.all); busy > busyShare {
		share *= max(busyShare/busy, lessShare)
	}
	return share * float64(limit-min(limit, beside)) / float64(max(live, 1)), true
}

// fit moves the limit of the cache, given by what factor the live heap may grow or must shrink. The
// next collections do the rest. Several caches move by the same factor, and so share the room.
func (c *Cache[K, V]) fit(room float64) {
	c.ceiling.resizing.Lock()
	old, used := c.common.size.budget.max.Load(), c.common.size.budget.used.Load()
	limit := elasticLimit(room, old, used, c.ceiling.most)
	if limit != old {
		c.limitTo(limit)
	}
	c.ceiling.resizing.Unlock()
	c.evictSurplus() // also if the limit stays: a store during the last change may have exceeded it
	if limit < old {
		for s := range c.common.all() {
			s.trim()
		}
	}
}

// elasticLimit returns the limit that should replace old, of a cache that may have most and uses some of it. It
// grows as if at least half of it were used, as a cache may be empty for a while. No limit, which is 0, stays.
func elasticLimit(room float64, old, used, most uint64) uint64 {
	from := float64(used)
	if room >= 1 {
		from = max(from, float64(old)/2)
	}
	fits := max(from*(1+(room-1)*gain), leastShare*float64(most), 1)
	switch {
	case most == 0:
		return old
	case room >= 1 && fits >= float64(most):
		return most
	case room >= 1 && fits > float64(old)*(1+elasticStep):
		return max(uint64(fits), old+1)
	case room < 1 && fits < float64(old)*(1-elasticStep):
		return uint64(fits)
	}
	return old
}

// trim frees what a shard has of slots that it no longer needs.
func (s *shard[K, V]) trim() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if n := max(minSlots, s.slots.len+s.slots.len/8); n+n/8 < len(s.entries) && !s.slots.pinned() && !s.split {
		s.setSlots(n)
	}
}

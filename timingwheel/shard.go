package timingwheel

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/stats"
)

const (
	// batch is how many tasks are processed in one hold of a shard's lock, some
	// 20 µs of work.
	batch = 256

	// never is the next visit of a shard in which no timer waits for a tick.
	never = math.MaxInt64
)

// A shard is a part of a wheel under a lock of its own: timers by task number, with
// an entry of type E each. mu guards all fields; the atomic ones are written with mu
// held, and may be read without.
//
// Invariants, between any two holds of mu:
//
//   - A task number below used is live in the ring, or it is in free.
//   - next is at most the tick of the next visit to a live task, or never if no
//     live task is in a slot.
//   - held is the length of the ring's due list.
//   - If there are timers, anchored is set and *anchor is the owner, else nil.
type shard[E any] struct {
	owner  *wheel
	clock  *clock // the owner's
	anchor **wheel
	kind   kind
	mu     sync.Mutex
	slab[E]
	anchored bool
	closed   bool
	walks    int   // iterations under way, which need the numbers to stay
	empty    int64 // the tick since which there have been no timers; never if unknown
	counts   counts
	sink     uint64 // what prefetch has read; the value means nothing

	next     atomic.Int64
	held     atomic.Int64
	lateness histogram.DurationRecorder
	_        [64]byte // so that no two shards share a cache line
}

// A kind is what shards of timers by key and shards of timers by handle do differently. The
// methods are called with mu held.
type kind interface {
	prefetch(tasks []uint32) // reads what the visits or claims of some tasks need, for all at once
	claim(i uint32)          // removes timer i, whose callback is called next
	fit(n int)               // makes room for n timers; there are no more
	clear()                  // gives the ring and the arrays back; there are no timers
}

// counts are what happened; visits and relinks are of the rings that the shard had before.
type counts struct{ started, moved, removed, fired, refused, visits, relinks uint64 }

// renew leaves the shard without timers, and with a new slab.
func (s *shard[E]) renew() {
	visits, relinks := s.ring.Counts()
	s.counts.visits += visits
	s.counts.relinks += relinks
	s.slab = newSlab[E](s.owner.slots)
	s.empty = never
	s.next.Store(never)
}

// init makes shard i of a wheel.
func (s *shard[E]) init(w *wheel, i int, k kind) {
	s.owner, s.clock, s.anchor, s.kind = w, &w.clock, &w.anchors[i], k
	s.slab = newSlab[E](w.slots)
	s.empty = never
	s.next.Store(never)
}

// grow makes room for more timers.
func (s *shard[E]) grow() { s.kind.fit(max(minSlab, 2*len(s.entries))) }

// fewSlots: a ring with no more slots is not worth a wake-up to give it back.
const fewSlots = 64

// idle reports whether there are no timers, and a ring that is worth giving back: one that has
// had timers, and so has made the lists of its slots.
func (s *shard[E]) idle() bool {
	return s.ring.Len() == 0 && len(s.entries) > 0 && s.owner.slots > fewSlots
}

// set makes task i due at the end of a span. It returns the tick by which the driver has to
// be awake. For a long span the tick is before the task is due: otherwise the ring would
// have to catch up on all its visits in the overflow level at once.
func (s *shard[E]) set(i uint32, wait span) (tick int64) {
	if s.ring.Len() == s.ring.Held() {
		// A ring in which no task waits for a tick is not advanced. Here it
		// catches up and visits its tombstones. Otherwise this task would be
		// visited in every revolution that was missed.
		s.ring.Advance(s.clock.ticks(wait.now), math.MaxInt, nil)
		s.empty = never
	}
	tick = s.ring.Set(i, s.clock.dueTick(wait.deadline))
	if tick < s.next.Load() {
		s.next.Store(tick)
	}
	return tick
}

// unlock publishes held, sets the anchor, and releases the lock.
func (s *shard[E]) unlock() {
	if n := int64(s.ring.Held()); n != s.held.Load() {
		s.held.Store(n)
	}
	if live := s.ring.Len() > 0; live != s.anchored {
		s.anchored = live
		*s.anchor = nil
		if live {
			*s.anchor = s.owner
		}
	}
	s.mu.Unlock()
}

// claimNext claims the timer that has been due for longest, if it was due at the tick upTo or
// before, and returns its entry. Until then the timer can be removed, stopped and moved.
func (s *shard[E]) claimNext(upTo int64) (e E, ok bool) {
	now := s.clock.now()
	s.mu.Lock()
	s.kind.prefetch(s.ring.HeldAhead())
	if _, due, ok := s.ring.Oldest(); !ok || due > upTo {
		s.mu.Unlock()
		return e, false
	}
	i, due, _ := s.ring.Take()
	e = s.entries[i]
	s.kind.claim(i)
	s.fired(due, now)
	tick := s.clock.ticks(now)
	if s.clock.slow() {
		s.freeMemory(tick)
	}
	visit := s.shrinkAfter(tick)
	more := s.ring.Held() > 0
	s.unlock()
	if more {
		s.owner.more()
	}
	s.owner.wakeBy(visit)
	return e, true
}

// advance moves the ring on to a tick, visiting at most a batch of tasks. It reports
// whether the tick is reached.
func (s *shard[E]) advance(tick int64, visit func(i uint32) int64) (done bool) {
	done = s.ring.Advance(tick, batch, visit)
	next := int64(never)
	if s.ring.Len() > s.ring.Held() {
		next, _ = s.ring.NextVisit()
	}
	s.next.Store(next)
	s.shrinkAfter(tick)
	return done
}

// shrink frees memory if many timers have gone, and reports whether it did.
func (s *shard[E]) shrink(tick int64) bool {
	s.mu.Lock()
	defer s.unlock()
	done := s.freeMemory(tick)
	s.shrinkAfter(tick) // if it is empty, and keeps its ring for now
	return done
}

// freeMemory is shrink with the lock held, and requests no visit.
func (s *shard[E]) freeMemory(tick int64) bool {
	if s.spent(tick) {
		s.kind.clear()
		return true
	}
	return s.maybeShrink()
}

// maybeShrink frees memory if there are few timers for the arrays, and reports whether it did.
func (s *shard[E]) maybeShrink() bool {
	if s.walks > 0 || !s.sparse() {
		return false
	}
	s.kind.fit(max(minSlab, 2*s.ring.Len()))
	return true
}

// shrinkAfter requests a visit at the next tick if the arrays are to shrink, or later if the
// ring is to be given back. It returns the tick by which the driver has to be awake for that
// visit, or never.
func (s *shard[E]) shrinkAfter(tick int64) int64 {
	at := int64(never)
	switch {
	case s.walks > 0:
	case s.sparse():
		at = tick + 1
	case s.idle():
		s.empty = min(s.empty, tick)
		at = max(s.empty+s.clock.idleTicks(), tick+1)
	}
	if at >= s.next.Load() {
		return never
	}
	s.next.Store(at)
	return at
}

// spent reports whether the shard has had no timers for long enough to give its ring back. A
// shard that is used again soon keeps its ring, of some KB.
func (s *shard[E]) spent(tick int64) bool {
	if s.walks > 0 || !s.idle() {
		return false
	}
	s.empty = min(s.empty, tick)
	return tick-s.empty >= s.clock.idleTicks()
}

// fired counts a timer that was due at a tick and is called now.
func (s *shard[E]) fired(tick, now int64) {
	s.counts.fired++
	s.lateness.Observe(time.Duration(now - s.clock.of(tick)))
}

// nextVisit returns the tick by which the driver has to visit the shard, or never.
func (s *shard[E]) nextVisit() int64 { return s.next.Load() }

// backlog returns the number of timers that are due and not called yet.
func (s *shard[E]) backlog() int64 { return s.held.Load() }

// ready reports whether timers are due and not called yet.
func (s *shard[E]) ready() bool { return s.held.Load() > 0 }

// oldest returns the tick at which the timer was due that callNext would call, or never.
func (s *shard[E]) oldest() int64 {
	if !s.ready() {
		return never
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, due, ok := s.ring.Oldest(); ok {
		return due
	}
	return never
}

// addTo adds the statistics of the shard to total.
func (s *shard[E]) addTo(total *stats.WheelSnapshot) {
	s.mu.Lock()
	total.Pending += s.ring.Len() - s.ring.Held()
	total.Overdue += s.ring.Held()
	total.Tombstones += s.ring.Tombstones()
	visits, relinks := s.ring.Counts()
	total.Visits += s.counts.visits + visits
	total.Relinks += s.counts.relinks + relinks
	total.Started += s.counts.started
	total.Moved += s.counts.moved
	total.Refused += s.counts.refused
	total.Removed += s.counts.removed
	total.Fired += s.counts.fired
	total.Lateness = stats.Histogram(histogram.Histogram(total.Lateness).Plus(s.lateness.Histogram()))
	s.mu.Unlock()
}

// A waiting is an entry that waits, and when it is due.
type waiting[E any] struct {
	entry E
	due   time.Time
}

// each yields the entries that wait, until yield returns false, and reports whether it did not. It holds no
// lock while yield runs. During the walk the shard may grow, but no timer changes its number.
func (s *shard[E]) each(yield func(e E, due time.Time) bool) bool {
	s.walk(1)
	defer s.walk(-1)
	var timers []waiting[E]
	for from, more := 0, true; more; {
		timers, from, more = s.copyLive(timers[:0], from)
		for _, t := range timers {
			if !yield(t.entry, t.due) {
				return false
			}
		}
		clear(timers) // hold nothing while yield runs again
	}
	return true
}

// walk adds n to the number of walks under way.
func (s *shard[E]) walk(n int) {
	s.mu.Lock()
	s.walks += n
	s.maybeShrink()
	s.mu.Unlock()
}

// copyLive appends a batch of timers, from task number from on, to timers. It returns
// the number to continue from, and whether there are more.
func (s *shard[E]) copyLive(timers []waiting[E], from int) ([]waiting[E], int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	origin := s.clock.moment(0)
	to := min(from+batch, s.used)
	for i := from; i < to; i++ {
		if tick, live := s.ring.Due(uint32(i)); live {
			timers = append(timers, waiting[E]{s.entries[i], origin.Add(time.Duration(s.clock.of(tick)))})
		}
	}
	return timers, max(to, from), to < s.used
}

// len returns the number of timers that wait.
func (s *shard[E]) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ring.Len()
}

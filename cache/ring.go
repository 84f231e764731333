// This file has the deadlines of a shard's entries and their tasks in its ring; also idleness, and
// deadlines that were brought forward.

package cache

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// setLife gives entry i a life, and a task in the ring. If the slot has a task already,
// of this entry or of the one it replaces, and the ring visits that soon enough, the task
// stays as it is: expireBatch then postpones it.
func (s *shard[K, V]) setLife(i uint32, l life) {
	e := &s.entries[i]
	old := e.deadline.Get()
	e.deadline.Set(l.deadline)
	if s.caps != nil {
		s.caps[i] = l.cap
	}
	if s.due != nil {
		s.due[i].Set(l.due)
	}
	switch {
	case l.deadline == clock.Never:
		if old != clock.Never {
			s.ring.Remove(i)
			s.unanchor()
		}
	case old == clock.Never || (old < 0 || l.deadline < old) && !s.visitsBy(i, l.deadline):
		s.schedule(i, s.common.time.tickAt(l.deadline))
	}
}

// lifeAt returns the life of entry i, whose key has hash h and is being used now.
func (s *shard[K, V]) lifeAt(i uint32, h uint64) life {
	l := forever
	if s.due != nil {
		l.due = s.due[i].Get()
	}
	if s.caps == nil {
		l.deadline = s.entries[i].deadline.Get()
		l.cap = l.deadline
	} else {
		l.cap = s.caps[i]
		l.deadline = min(clock.After(s.common.time.timeFor(&s.common.time.clock.Idleness, h, 0), s.common.time.idle), l.cap)
	}
	return l
}

// visitsBy reports whether the ring visits the task of entry i in time for a deadline.
func (s *shard[K, V]) visitsBy(i uint32, deadline int64) bool {
	tick, ok := s.ring.Visit(i)
	return ok && (tick-1)*int64(s.common.time.tick) < deadline // as tick <= tickAt(deadline), but faster
}

// schedule makes entry i due at a tick.
func (s *shard[K, V]) schedule(i uint32, due int64) {
	if s.ring == nil {
		s.makeRing(s.common.size.ringSlots(len(s.common.table.Load().shards)))
	}
	// The driver advances a ring only when there is something to visit. Without this a task that
	// is due soon would go to the overflow level.
	if now, tick := s.common.time.clock.Coarse(), int64(s.common.time.tick); now-s.ring.Now()*tick >= tick {
		s.ring.Advance(now/tick, 0, nil)
	}
	s.visitBy(s.ring.Set(i, due))
	s.anchor(true)
}

// visitBy makes the driver visit the shard by a tick.
func (s *shard[K, V]) visitBy(tick int64) {
	if tick < s.nextVisit.Load() {
		s.nextVisit.Store(tick)
		s.common.time.wakeBy(tick)
	}
}

// makeRing makes the ring, with slots slots per level.
func (s *shard[K, V]) makeRing(slots int) {
	s.ring = ring.New(slots)
	s.ring.Resize(len(s.entries))
}

// useAt is use of an entry that has not expired, by a caller that holds the lock for
// writing: it also postpones the end of idleness. It returns false if that has come.
func (s *shard[K, V]) useAt(i uint32, h uint64) bool {
	s.use(i)
	return s.common.time.idle == 0 || s.slide(i, h)
}

// slide postpones the end of idleness of entry i, whose key has hash h and which is being
// read. It returns false if another caller has found the entry expired meanwhile.
func (s *shard[K, V]) slide(i uint32, h uint64) bool {
	return s.slideTo(i, min(clock.After(s.common.time.timeFor(&s.common.time.clock.Idleness, h, 0), s.common.time.idle), s.caps[i]))
}

// slideTo is slide to a deadline, unless another caller has set a later one. For never the
// task would have to be removed, so the deadline, 292 years from now, stays as it is.
func (s *shard[K, V]) slideTo(i uint32, deadline int64) bool {
	d := &s.entries[i].deadline
	for {
		switch old := d.Get(); {
		case old < 0:
			return false
		case deadline <= old || deadline == clock.Never || d.Swap(old, deadline):
			return true
		}
	}
}

// When a Set brings a deadline forward, the ring may visit the task of the entry too late.
// Checking that fetches one more cache line, behind a branch that cannot be predicted. So
// overwrite and retime mark the entry, and the next tick moves the tasks of all marked entries
// before it visits those that are due.

// An earlier has a bit for each slot, set if the deadline of its entry was brought forward.
// The slot may have another entry, or none, since.
type earlier struct {
	words  []uint64
	next   int   // the word with which the pass under way goes on
	passed int64 // the tick in which the last pass ended
}

const bitsPerWord = 64

// markEarlier marks entry i if its new deadline is earlier than the old one.
func (s *shard[K, V]) markEarlier(i uint32, old, deadline int64) {
	if s.earlier == nil {
		s.awaitEarlier()
	}
	// Without a branch, which would wait for the old deadline from memory, and be
	// mispredicted every other time.
	s.earlier.words[i/bitsPerWord] |= uint64(deadline-old) >> 63 << (i % bitsPerWord)
}

// note is markEarlier for a reader. It does nothing if there is no earlier.
func (e *earlier) note(i uint32, old, deadline int64) {
	if e == nil {
		return
	}
	word, bit := &e.words[i/bitsPerWord], uint64(deadline-old)>>63<<(i%bitsPerWord)
	if atomic.LoadUint64(word)&bit != bit { // seldom: a bit stays until the next tick
		atomic.OrUint64(word, bit)
	}
}

// awaitEarlier makes the next tick call moveEarlier.
func (s *shard[K, V]) awaitEarlier() {
	s.earlier = &earlier{words: make([]uint64, (len(s.entries)+bitsPerWord-1)/bitsPerWord)}
	s.visitBy(s.common.time.nextTick())
}

// moveEarlier moves the tasks of marked entries that the ring would visit too late, and
// clears the marks, at most n. It returns done at the end of a pass, of which there is one in a
// tick. Marks that are made behind the pass are for the next tick: their deadlines are later.
func (s *shard[K, V]) moveEarlier(tick int64, n int) (done bool) {
	e := s.earlier
	if e == nil || e.passed == tick {
		return true
	}
	for ; e.next < len(e.words); e.next++ {
		for word := &e.words[e.next]; *word != 0; *word &= *word - 1 {
			if n == 0 {
				return false
			}
			n--
			i := uint32(e.next*bitsPerWord + bits.TrailingZeros64(*word))
			if !s.entries[i].live() {
				continue
			}
			if t := clock.TimeOf(s.entries[i].deadline.Get()); t != clock.Never && !s.visitsBy(i, t) {
				s.visitBy(s.ring.Set(i, s.common.time.tickAt(t))) // perhaps at this tick, to which the ring has yet to advance
			}
		}
	}
	e.next, e.passed = 0, tick
	if !slices.ContainsFunc(e.words, func(word uint64) bool { return word != 0 }) {
		s.earlier = nil
	}
	return true
}

// moveAllEarlier is moveEarlier for all marks.
func (s *shard[K, V]) moveAllEarlier() {
	if s.earlier != nil {
		s.earlier.next = 0
		s.moveEarlier(noTick, len(s.entries))
	}
}

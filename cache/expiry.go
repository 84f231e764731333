// This file has what a tick does: it visits tasks, and removes entries that have expired. Last come
// Grace, and deadlines that were brought forward.

package cache

import (
	"math/bits"
	"runtime"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

const (
	// slots is the size of a shard's ring: 4 KiB with both levels. A revolution takes
	// five times the shortest TTL of the options if that is from 1 to 100 s.
	slots = 512

	// fewSlots is the size in a shard with fewer entries than fewEntries, where memory counts
	// for more than a few more visits of each entry. A TTL of the options fits, as it is a
	// hundred ticks. If it is longer than 100 s, two visits are enough up to four hours.
	fewSlots   = 128
	fewEntries = mostPerShard

	// batch is how many tasks or entries one hold of a shard's lock handles at most:
	// some 5 µs of work, or 20 if all of it comes from memory.
	batch = 64
)

// setLife gives entry i a life, and a task in the ring. If the slot has a task already,
// of this entry or of the one it replaces, and the ring visits that soon enough, the task
// stays as it is: expireBatch then postpones it.
func (s *shard[K, V]) setLife(i uint32, l life) {
	e := &s.entries[i]
	old := e.deadline.load()
	e.deadline.set(l.deadline)
	if s.caps != nil {
		s.caps[i] = l.cap
	}
	if s.due != nil {
		s.due[i].set(l.due)
	}
	switch {
	case l.deadline == never:
		if old != never {
			s.ring.Remove(i)
			s.unanchor()
		}
	case old == never || (old < 0 || l.deadline < old) && !s.visitsBy(i, l.deadline):
		s.schedule(i, s.common.tickAt(l.deadline))
	}
}

// lifeAt returns the life of entry i, whose key has hash h and is being used now.
func (s *shard[K, V]) lifeAt(i uint32, h uint64) life {
	l := forever
	if s.due != nil {
		l.due = s.due[i].load()
	}
	if s.caps == nil {
		l.deadline = s.entries[i].deadline.load()
		l.cap = l.deadline
	} else {
		l.cap = s.caps[i]
		l.deadline = min(after(s.common.timeFor(&s.common.clock.idleness, h, 0), s.common.idle), l.cap)
	}
	return l
}

// visitsBy reports whether the ring visits the task of entry i in time for a deadline.
func (s *shard[K, V]) visitsBy(i uint32, deadline int64) bool {
	tick, ok := s.ring.Visit(i)
	return ok && (tick-1)*int64(s.common.tick) < deadline // as tick <= tickAt(deadline), but faster
}

// schedule makes entry i due at a tick.
func (s *shard[K, V]) schedule(i uint32, due int64) {
	n := s.common.ringSlots(len(s.common.table.Load().shards))
	if s.ring == nil {
		s.makeRing(n)
	}
	if due-s.ring.Now() > int64(n) {
		// The driver advances a ring only when there is something to visit. Without this
		// a task that is due soon would go to the overflow level.
		s.ring.Advance(s.common.clock.coarse.Load()/int64(s.common.tick), 0, nil)
	}
	s.ring.Set(i, due)
	s.anchor(true)
	visit, _ := s.ring.Visit(i)
	s.visitBy(visit)
}

// visitBy makes the driver visit the shard by a tick.
func (s *shard[K, V]) visitBy(tick int64) {
	if tick < s.next.Load() {
		s.next.Store(tick)
		s.common.wakeBy(tick)
	}
}

// ringSlots returns the slots to a level in the ring of a shard, of so many shards.
func (c *common[K, V]) ringSlots(shards int) int {
	if limit := int(c.limit.Load()); shards == 1 || limit > 0 && limit/shards < fewEntries {
		return fewSlots
	}
	return slots
}

// makeRing makes the ring, with slots slots per level.
func (s *shard[K, V]) makeRing(slots int) {
	s.ring = timingwheel.NewRing(slots)
	s.ring.Resize(len(s.entries))
}

// slide postpones the end of idleness of entry i, whose key has hash h and which is being
// read. It returns false if another caller has found the entry expired meanwhile.
func (s *shard[K, V]) slide(i uint32, h uint64) bool {
	return s.slideTo(i, min(after(s.common.timeFor(&s.common.clock.idleness, h, 0), s.common.idle), s.caps[i]))
}

// slideTo is slide to a deadline, unless another caller has set a later one. For never the
// task would have to be removed, so the deadline, 292 years from now, stays as it is.
func (s *shard[K, V]) slideTo(i uint32, deadline int64) bool {
	d := &s.entries[i].deadline
	for {
		switch old := d.load(); {
		case old < 0:
			return false
		case deadline <= old || deadline == never || d.swap(old, deadline):
			return true
		}
	}
}

// expireBatch advances the ring to now, by at most a batch of tasks, and removes what has
// expired. It returns done when no task is left to visit.
func (s *shard[K, V]) expireBatch() (done, reported bool) {
	now := s.common.clock.now()
	s.lock.Lock()
	if s.split || s.ring == nil {
		s.lock.Unlock()
		return true, false
	}
	if !s.moveEarlier(batch) {
		s.lock.Unlock()
		return false, false
	}
	var ahead fetched
	done = s.ring.AdvanceAll(now/int64(s.common.tick), batch, func(i uint32) (again int64) {
		s.fetch(s.ring.Ahead(), &ahead)
		e := &s.entries[i]
		deadline := e.deadline.load()
		if deadline > now { // not due, or postponed
			return s.common.tickAt(deadline) - s.ring.Now()
		}
		end := s.end(i)
		if end > now { // in Grace
			e.deadline.set(-timeOf(deadline))
			return s.common.tickAt(end) - s.ring.Now()
		}
		s.common.lateness.Observe(time.Duration(now - end))
		s.remove(i, s.hashFetched(i, &ahead), Expired)
		return 0
	})
	if done {
		s.maybeShrink()
	}
	if s.ring != nil {
		next, ok := s.ring.NextVisit()
		if !ok {
			next = noTick
		}
		s.next.Store(next)
	}
	return done, s.unlock()
}

// fetched has the entries that the ring visits next, in its order, with the hashes of their
// keys.
type fetched struct {
	slots  [batch]uint32
	hashes [batch]uint64
	n      int
	next   int // the first that the ring may still visit
}

// fetch reads what the removal of the entries of some tasks needs, for all of them at once:
// first the entries with their keys and neighbours, and then the index. It sets f, except if
// there are no tasks.
func (s *shard[K, V]) fetch(slots []uint32, f *fetched) {
	if len(slots) == 0 {
		return
	}
	f.n, f.next = 0, 0
	sum := uint64(0)
	for _, i := range slots {
		if !s.entries[i].live() { // a tombstone
			continue
		}
		f.slots[f.n], f.hashes[f.n] = i, s.hashOf(i)
		f.n++
		if s.order != nil && s.weight(i) > 0 {
			sum += s.order.FetchRemove(i)
		}
	}
	for _, h := range f.hashes[:f.n] {
		sum += s.index.Fetch(h)
	}
	s.fetched += uint32(sum)
}

// hashFetched returns the hash of the key of entry i, which is visited now.
func (s *shard[K, V]) hashFetched(i uint32, f *fetched) uint64 {
	for f.next < f.n {
		n := f.next
		f.next++
		if f.slots[n] == i {
			return f.hashes[n]
		}
	}
	return s.hashOf(i)
}

// expire removes what has expired, and returns the tick of the next visit, or noTick. It
// takes the shards in turn, a batch of each, so that the driver holds no lock for long.
func (c *Cache[K, V]) expire() (next int64) {
	for busy := true; busy; {
		t := c.common.table.Load()
		next, busy = c.expireIn(t)
		if larger := t.larger.Load(); larger != nil {
			later, more := c.expireIn(larger)
			next, busy = min(next, later), busy || more
		}
		runtime.Gosched()
	}
	return next
}

// expireIn is a round of expire through the shards of a table. It returns busy if there is
// more to do now.
func (c *Cache[K, V]) expireIn(t *table[K, V]) (next int64, busy bool) {
	next = noTick
	now := c.common.clock.now() / int64(c.common.tick)
	for i := range t.shards {
		s := &t.shards[i]
		if s.next.Load() <= now {
			done, reported := s.expireBatch()
			busy = busy || !done
			c.common.settle(reported)
		}
		next = min(next, s.next.Load())
	}
	return next, busy
}

// A value in Grace has expired, but may stand in. Its deadline is still the one by TTL, so
// all methods but the Takes find it expired, as in a cache without Grace. The wheel visits
// at the deadline and postpones the task to the end of Grace. Setting the task there at once
// would save a visit, but the horizon reaches only to the next visit, so every read would
// read the clock.

// end returns when entry i is removed: at its deadline or, if that is by TTL, at the end of
// Grace.
func (s *shard[K, V]) end(i uint32) int64 {
	t := timeOf(s.entries[i].deadline.load())
	if s.common.grace == 0 || s.caps != nil && t < s.caps[i] {
		return t
	}
	return after(t, s.common.grace)
}

// gone reports whether entry i has expired and is not in Grace any more.
func (s *shard[K, V]) gone(i uint32) bool {
	return s.expired(i) && (s.common.grace == 0 || s.common.clock.passed(s.end(i)))
}

// findUsable returns the entry of a key if it has not expired or is in Grace.
func (s *shard[K, V]) findUsable(h uint64, key K) (i uint32, ok bool) {
	i, ok = s.find(h, key)
	return i, ok && !s.gone(i)
}

// When a Set brings a deadline forward, the ring may visit the task of the entry too late.
// Checking that fetches one more cache line, behind a branch that cannot be predicted. So
// overwrite marks the entry, and the next tick moves the tasks of all marked entries. All
// their deadlines are beyond that tick.

// An earlier has a bit for each slot, set if the deadline of its entry was brought forward.
// The slot may have another entry, or none, since.
type earlier struct{ words []uint64 }

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

// awaitEarlier makes the next tick call moveEarlier.
func (s *shard[K, V]) awaitEarlier() {
	s.earlier = &earlier{make([]uint64, (len(s.entries)+bitsPerWord-1)/bitsPerWord)}
	s.visitBy(s.common.nextTick())
}

// moveEarlier moves the tasks of marked entries that the ring would visit too late, and
// clears the marks, at most n. It returns done when no marks are left.
func (s *shard[K, V]) moveEarlier(n int) (done bool) {
	if s.earlier == nil {
		return true
	}
	for w := range s.earlier.words {
		for word := &s.earlier.words[w]; *word != 0; *word &= *word - 1 {
			if n == 0 {
				return false
			}
			n--
			i := uint32(w*bitsPerWord + bits.TrailingZeros64(*word))
			if !s.entries[i].live() {
				continue
			}
			if t := timeOf(s.entries[i].deadline.load()); t != never && !s.visitsBy(i, t) {
				s.schedule(i, s.common.tickAt(t))
			}
		}
	}
	s.earlier = nil
	return true
}

// This file has the shard: its entries, its lock, and how an entry is found. A value is stored by
// store.go, and leaves by removal.go. A new array by entry goes into one of the parts: lives.go,
// turn.go or tally.go, each with resize, copy and drop; store.go sets it when a value is stored.

package cache

import (
	"math"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/internal/biased"
	"github.com/pinwheel-cache/pinwheel/internal/eviction"
	"github.com/pinwheel-cache/pinwheel/internal/index"
)

// perHold is the most tasks or entries that a caller handles before it releases a shard's lock: about
// 5 µs of work, or 20 if it must wait for memory.
const perHold = 64

// A shard is a part of the cache under a lock of its own. It is made of parallel
// arrays: number i of each belongs to the same entry, and i is all that the
// index, the eviction order and the timing wheel know of it.
//
// The arrays, and what else a shard keeps, are in five parts. Each has a file of its own, which
// says what it owns, what must hold, and what may be done to it under which lock. A part knows
// neither its shard nor the other parts: what a method of it needs of them is an argument. The
// methods of shard are those that touch more than one part.
//
// Readers hold lock for reading; they may set marks, store deadlines and count
// misses, all of them atomically. Everything else is guarded by lock held for
// writing.
//
// Invariants, checked by the tests after every operation:
//
//   - A slot is live or in the list of free ones; the index has exactly the
//     live ones, each under the hash of its key.
//   - The order, if there is one, has exactly the live ones.
//   - The ring has a task for exactly the entries with a deadline. It visits the
//     task no later than at the first tick at or after the deadline, unless the entry
//     is in earlier: then the driver visits the shard no later than that.
//   - A shard that is split has no loads and fences, and never will. It keeps its old entries, as
//     they were, only while a walk pins it.
type shard[K comparable, V any] struct {
	// What a Get reads and only a change of size writes: a cache line.
	index   index.Index
	entries []entry[K, V]
	marks   *eviction.Marks // of turn.order; nil before the first limit
	common  *common[K, V]

	lives lives
	moved *table[K, V] // the larger table, once the shard is split

	// The end of lock, which every write changes, and the beginning of removals,
	// of which an overwrite or an eviction changes one, are a cache line together:
	// the only one of the shard that it takes from another processor.
	lock     biased.Lock
	removals [Cleared]uint64 // by cause; Expired is the first

	slots   slots
	tally   tally
	turn    turn
	pending pending[K, V]

	limited  bool  // entries take their weight, or 1, from the budget
	noted    bool  // the cache has a watch or keeps ages: one check for a Set without them
	off      bool  // it stores nothing, as it is closed or bypassed
	closed   bool  // its callers share no new load
	reported bool  // an event was queued during this hold of lock
	split    bool  // its entries are in the shards of moved
	strain   int16 // by writes that had to wait, while the table is growing
} // of 512 bytes: no two shards share a cache line

// An entry of a shard. In a free slot key and value are zero, and deadline is freeSlots
// plus the next free slot. A slot that was never used is all zero: its memory is not
// touched before, and the next free slot is the one after it.
type entry[K comparable, V any] struct {
	deadline clock.Deadline // or never
	key      K
	value    V
}

func (e *entry[K, V]) live() bool {
	deadline := e.deadline.Get()
	return deadline > freeSlots+math.MaxUint32 && deadline != unused
}

// find returns the slot of a key. It is written out as [index.Index.Home] says, here
// and in the keyed wheel: shared by a function with a callback it would be slower.
func (s *shard[K, V]) find(h uint64, key K) (i uint32, ok bool) {
	home := s.index.Home(h)
	for m := home.Match(h); m != 0; m = m.Next() {
		if i := home.Slot(m); s.entries[i].key == key {
			return i, true
		}
	}
	if home.Passed(h) {
		return s.index.FindPassed(h, func(i uint32) bool { return s.entries[i].key == key })
	}
	return 0, false
}

// findLive is find, but does not return an entry that has expired.
func (s *shard[K, V]) findLive(h uint64, key K) (i uint32, ok bool) {
	i, ok = s.find(h, key)
	return i, ok && !s.checkExpired(i)
}

// checkExpired reports whether the deadline of entry i has passed. If it has, checkExpired
// marks the entry as dead. Then a reader that saw it alive just before can no longer extend it,
// and nobody finds the entry after another caller has missed it.
func (s *shard[K, V]) checkExpired(i uint32) bool {
	return !s.common.time.clock.Far(s.entries[i].deadline.Get()) && s.markIfPassed(i)
}

// markIfPassed is checkExpired for a deadline that is not far.
func (s *shard[K, V]) markIfPassed(i uint32) bool {
	e := &s.entries[i]
	for {
		deadline := e.deadline.Get()
		if !s.common.time.clock.Passed(deadline) {
			return false
		}
		if deadline < 0 || e.deadline.Swap(deadline, -deadline) {
			return true
		}
	}
}

// checkGone reports whether entry i has expired and is not in Grace any more. Like checkExpired
// it marks an entry that has expired.
func (s *shard[K, V]) checkGone(i uint32) bool {
	return s.checkExpired(i) && (s.common.time.grace.get() == 0 || s.common.time.clock.Passed(s.end(i)))
}

// end returns when entry i is removed: at its deadline, or at the end of Grace.
func (s *shard[K, V]) end(i uint32) int64 {
	return s.lives.end(i, &s.entries[i].deadline, s.common.time.grace.get())
}

// causeOr returns why entry i is removed: Expired if its deadline and Grace have passed and the
// wheel has yet to remove it, else cause.
func (s *shard[K, V]) causeOr(cause Cause, i uint32) Cause {
	if s.checkGone(i) {
		return Expired
	}
	return cause
}

// findUsable returns the entry of a key if it has not expired or is in Grace.
func (s *shard[K, V]) findUsable(h uint64, key K) (i uint32, ok bool) {
	i, ok = s.find(h, key)
	return i, ok && !s.checkGone(i)
}

// unlock releases the lock for writing. It reports whether an event was queued while it
// was held: then settle must follow. It writes reported only if that is set: a write would
// take the cache line from other processors.
func (s *shard[K, V]) unlock() (reported bool) {
	reported = s.reported
	if reported {
		s.reported = false
	}
	s.lock.Unlock()
	return reported
}

// hashOf returns the hash of the key of entry i.
func (s *shard[K, V]) hashOf(i uint32) uint64 { return s.common.hasher.Hash(s.entries[i].key) }

// setLife gives entry i a life, and a task in the ring if it is to expire.
func (s *shard[K, V]) setLife(i uint32, l life) {
	if t := &s.common.time; s.lives.set(i, &s.entries[i].deadline, l, t) {
		s.setTask(i, t.tickAt(l.deadline))
	}
}

// setTask makes the ring visit entry i at a tick.
func (s *shard[K, V]) setTask(i uint32, tick int64) {
	if !s.lives.any() {
		s.lives.makeTasks(s.common.size.ringSlots(len(s.common.table.Load().shards)), len(s.entries))
	}
	s.lives.setTask(i, tick, &s.common.time)
}

// use marks entry i as used.
func (s *shard[K, V]) use(i uint32) {
	if s.marks != nil {
		s.marks.Mark(i)
	}
}

// useAt is use of an entry that has not expired, by a caller that holds the lock for
// writing: it also postpones the end of idleness. It returns false if that has come.
func (s *shard[K, V]) useAt(i uint32, h uint64) bool {
	s.use(i)
	return s.common.time.idle == 0 || s.lives.slide(i, &s.entries[i].deadline, h, &s.common.time)
}

// moveEarlier moves the tasks of at most n of the entries in earlier that the ring would visit too
// late. It returns done when this tick has no more of them.
func (s *shard[K, V]) moveEarlier(tick int64, n int) (done bool) {
	return s.lives.passEarlier(tick, n, func(i uint32) {
		if e := &s.entries[i]; e.live() {
			s.lives.moveTask(i, clock.TimeOf(e.deadline.Get()), &s.common.time)
		}
	})
}

// moveAllEarlier is moveEarlier for all entries, whatever this tick has passed.
func (s *shard[K, V]) moveAllEarlier() {
	s.lives.restartEarlier()
	s.moveEarlier(noTick, len(s.entries))
}

// A freshness says how fresh a value is.
type freshness struct {
	deadline int64
	due      int64        // the word of due
	born     clock.Moment // when it was stored, or its load began; 0: not known
}

// freshnessOf returns how fresh the value of entry i is.
func (s *shard[K, V]) freshnessOf(i uint32) freshness {
	return freshness{s.entries[i].deadline.Get(), s.lives.dueOf(i), s.tally.bornOf(i)}
}

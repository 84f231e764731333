// This file has a shard: its arrays, the search in them, and removals.

package cache

import (
	"math"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/cache/internal/lostkeys"
	"github.com/pinwheel-cache/pinwheel/internal/biased"
	"github.com/pinwheel-cache/pinwheel/internal/index"
	"github.com/pinwheel-cache/pinwheel/lru"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// A shard is a part of the cache under a lock of its own. It is made of parallel
// arrays: number i of each belongs to the same entry, and i is all that the
// index, the eviction order and the timing wheel know of it.
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
//   - A shard that is split has no entries, loads or fences, and never will.
type shard[K comparable, V any] struct {
	// What a Get reads and only a change of size writes: a cache line.
	index   index.Index
	entries []entry[K, V]
	marks   *lru.Marks // of order; nil while there is no limit of any kind
	shared  *shared[K, V]

	ring        *timingwheel.Ring // nil before the first TTL
	weights     []uint32          // if the cache weighs
	caps        []int64           // deadlines by TTL, if Idle makes those of entries differ
	limited     bool              // entries take their weight, or 1, from the budget
	noted       bool              // the cache has a watch or keeps ages: one check for a Set without them
	closed      bool
	reported    bool              // an event was reported during this hold of lock
	split       bool              // its entries are in the shards of moved
	keepsErrors bool              // an error of a load was kept for a key of the shard
	strain      int16             // by writes that had to wait, while the table is growing
	loads       map[K]*load[K, V] // under way; nil before the first
	fences      *fences[K]        // who must know of a change of their key; nil before the first

	// The end of lock, which every write changes, and the beginning of removals,
	// of which an overwrite or an eviction changes one, are a cache line together:
	// the only one of the shard that it takes from another processor.
	lock     biased.Lock
	removals [Cleared]uint64 // by cause, from Expired on

	nextVisit     atomic.Int64 // the tick by which the ring has to be visited, or noTick
	free          uint32       // the first free slot; the others follow from it
	pins          atomic.Int32 // walks under way, during which slot numbers stay
	len           int
	missesExpired atomic.Uint64 // of those that lock counts
	missesEvicted atomic.Uint64
	hitsInGrace   atomic.Uint64              // likewise
	peakLoads     int32                      // most keys with loads since the map shrank
	fenced        int32                      // how many fences there are
	spare         atomic.Pointer[load[K, V]] // for the next load; it may be of another shard
	order         lru.Policy                 // nil while there is no limit of any kind
	born          []moment                   // when values were stored, if the cache keeps their ages
	due           []deadline                 // when they are to be loaded anew, with Refresh or Grace; see timing.go
	moved         *table[K, V]               // the larger table, once the shard is split

	lost lostkeys.Table

	restored  uint64 // values stored by Restore
	readAhead uint32 // the sum of what prefetching has read: without a use the compiler would drop the reads

	// evictable counts the entries with a weight above 0, in a cache that weighs. It
	// changes under the lock; other shards that need room read it without.
	evictable atomic.Int32

	// earlier has the entries that the next tick looks at: nil without any. It makes the
	// shard 512 bytes: no two shards share a cache line.
	earlier *earlier
}

// An entry of a shard. In a free slot key and value are zero, and deadline is freeSlots
// plus the next free slot. A slot that was never used is all zero: its memory is not
// touched before, and the next free slot is the one after it.
type entry[K comparable, V any] struct {
	deadline deadline // or never
	key      K
	value    V
}

func (e *entry[K, V]) live() bool {
	deadline := e.deadline.load()
	return deadline > freeSlots+math.MaxUint32 && deadline != unused
}

// batch is how many tasks or entries one hold of a shard's lock handles at most:
// some 5 µs of work, or 20 if all of it comes from memory.
const batch = 64

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

// findLive is find for entries that have not expired.
func (s *shard[K, V]) findLive(h uint64, key K) (i uint32, ok bool) {
	i, ok = s.find(h, key)
	return i, ok && !s.foundExpired(i)
}

// findUsable returns the entry of a key if it has not expired or is in Grace.
func (s *shard[K, V]) findUsable(h uint64, key K) (i uint32, ok bool) {
	i, ok = s.find(h, key)
	return i, ok && !s.foundGone(i)
}

// foundExpired reports whether the deadline of entry i has passed. If it has, the entry is
// dead from now on: a reader that saw it alive just before can no longer extend it, so
// nobody finds what another caller has missed.
func (s *shard[K, V]) foundExpired(i uint32) bool {
	return !s.shared.timing.clock.far(s.entries[i].deadline.load()) && s.die(i)
}

// die is foundExpired for a deadline that is not far.
func (s *shard[K, V]) die(i uint32) bool {
	e := &s.entries[i]
	for {
		deadline := e.deadline.load()
		if !s.shared.timing.clock.passed(deadline) {
			return false
		}
		if deadline < 0 || e.deadline.swap(deadline, -deadline) {
			return true
		}
	}
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
	if s.shared.timing.grace == 0 || s.caps != nil && t < s.caps[i] {
		return t
	}
	return after(t, s.shared.timing.grace)
}

// foundGone reports whether entry i has expired and is not in Grace any more.
func (s *shard[K, V]) foundGone(i uint32) bool {
	return s.foundExpired(i) && (s.shared.timing.grace == 0 || s.shared.timing.clock.passed(s.end(i)))
}

// causeOr returns the cause for which entry i is removed: Expired if its deadline and
// Grace have passed and it only waits for the wheel, and else the one given.
func (s *shard[K, V]) causeOr(cause Cause, i uint32) Cause {
	if s.foundGone(i) {
		return Expired
	}
	return cause
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
	return s.shared.timing.idle == 0 || s.slide(i, h)
}

// hashOf returns the hash of the key of entry i.
func (s *shard[K, V]) hashOf(i uint32) uint64 { return s.shared.hasher.Hash(s.entries[i].key) }

// weight returns the weight of entry i.
func (s *shard[K, V]) weight(i uint32) uint32 {
	if s.weights == nil {
		return 1
	}
	return s.weights[i]
}

// countMiss counts a miss of a key with hash h that has no entry. The lock must be held, at
// least for reading.
func (s *shard[K, V]) countMiss(h uint64) {
	switch s.lost.Missed(h) {
	case lostkeys.Expired:
		s.missesExpired.Add(1)
	case lostkeys.Evicted:
		s.missesEvicted.Add(1)
	}
}

// del removes a key and reports whether it had a value whose deadline has not passed.
func (s *shard[K, V]) del(h uint64, key K) (live bool) {
	s.breakFences(h, key)
	s.shared.watch.Load().removed(h)
	i, found := s.find(h, key)
	live = found && !s.foundExpired(i)
	if found {
		s.remove(i, h, s.causeOr(Deleted, i))
		s.maybeShrink()
	}
	return live
}

// remove takes entry i, whose key has hash h, out of the cache.
func (s *shard[K, V]) remove(i uint32, h uint64, cause Cause) {
	weight := s.detach(i, h, cause)
	if s.limited {
		s.shared.sizing.budget.release(weight)
	}
}

// detach takes entry i, whose key has hash h, out of all arrays and returns its
// weight, which the budget still counts.
func (s *shard[K, V]) detach(i uint32, h uint64, cause Cause) (weight uint64) {
	s.noteRemoval(i, h, cause)
	weight = uint64(s.weight(i))
	s.index.Remove(h, i)
	if weight > 0 {
		s.delist(i)
	}
	if s.ring != nil {
		s.ring.Remove(i)
	}
	var key K
	var value V
	e := &s.entries[i]
	e.key, e.value = key, value // the slot must not keep them alive
	s.freeSlot(i)
	s.len--
	return weight
}

// noteRemoval records that entry i, whose key has hash h, is removed: in the ages, fences,
// counts and events.
func (s *shard[K, V]) noteRemoval(i uint32, h uint64, cause Cause) {
	e := &s.entries[i]
	if s.noted && cause == Evicted && s.born != nil {
		s.shared.observers.evictedAge.Observe(s.born[i].until(s.shared.timing.clock.moment()))
	}
	switch cause {
	case Expired: // the key has had no value since the deadline, so nothing changes now
		s.lost.Add(h, lostkeys.Expired, len(s.entries))
	case Evicted:
		s.passEviction(h, e.key)
		s.lost.Add(h, lostkeys.Evicted, len(s.entries))
	default:
		s.breakFences(h, e.key)
	}
	s.countRemoval(h, e, cause)
}

// countRemoval counts a value that is removed and queues the event for OnRemove.
func (s *shard[K, V]) countRemoval(h uint64, e *entry[K, V], cause Cause) {
	s.removals[cause-Expired]++
	if s.shared.observers.told {
		s.report(h, e, cause)
	}
}

// report adds an event for OnRemove and OnRemoveSync. The lock of the shard is held, which
// keeps the events of a key in order.
func (s *shard[K, V]) report(h uint64, e *entry[K, V], cause Cause) {
	o := &s.shared.observers
	if o.runner != nil {
		o.runner.Push(h, Event[K, V]{e.key, e.value, cause})
	}
	if o.direct != nil {
		o.direct.Push(s, h, Event[K, V]{e.key, e.value, cause})
	}
	s.reported = true
}

// unlock releases the lock for writing, and adds to what the caller owes the observers what
// was reported while it was held: settle must follow. It writes reported only if that is set: a
// write would take the cache line from other processors.
func (s *shard[K, V]) unlock(to *debt[K, V]) {
	if s.reported {
		s.reported = false
		to.add(s.shared.observers.owedBy(s))
	}
	s.lock.Unlock()
}

// unlocked is unlock for a caller that holds one lock only.
func (s *shard[K, V]) unlocked() (owed debt[K, V]) {
	s.unlock(&owed)
	return owed
}

// pin keeps the entries in their slots until unpin: the shard may grow, but not
// shrink.
func (s *shard[K, V]) pin() {
	r := s.lock.RLock()
	s.pins.Add(1)
	s.lock.RUnlock(r)
}

// unpin ends a pin. The last unpin frees memory that the shard could not free while it was
// pinned.
func (s *shard[K, V]) unpin() {
	if s.pins.Add(-1) == 0 {
		s.lock.Lock()
		s.maybeShrink()
		s.lock.Unlock()
	}
}

// This file has a shard: its arrays, its lock, and how an entry is found in it.

package cache

import (
	"math"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/biased"
	"github.com/pinwheel-cache/pinwheel/internal/eviction"
	"github.com/pinwheel-cache/pinwheel/internal/index"
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
	marks   *eviction.Marks // of order; nil while there is no limit of any kind
	common  *common[K, V]

	ring     *timingwheel.Ring // nil before the first TTL
	weights  []uint32          // if the cache weighs
	caps     []int64           // deadlines by TTL, if Idle makes those of entries differ
	limited  bool              // entries take their weight, or 1, from the budget
	noted    bool              // the cache has a watch or keeps ages: one check for a Set without them
	closed   bool
	reported bool              // an event was queued during this hold of lock
	split    bool              // its entries are in the shards of moved
	anchored bool              // an entry waits to expire, in a cache with OnRemove
	strain   int16             // by writes that had to wait, while the table is growing
	loads    map[K]*load[K, V] // under way; nil before the first
	fences   map[K]*fence      // who must know of a change of their key

	// The end of lock, which every write changes, and the beginning of removals,
	// of which an overwrite or an eviction changes one, are a cache line together:
	// the only one of the shard that it takes from another processor.
	lock     biased.Lock
	removals [Cleared]uint64 // by cause, from Expired on

	next          atomic.Int64 // the tick by which the ring has to be visited, or noTick
	free          uint32       // the first free slot; the others follow from it
	pins          atomic.Int32 // walks under way, during which slot numbers stay
	len           int
	missesExpired atomic.Uint64 // of those that lock counts
	missesEvicted atomic.Uint64
	hitsInGrace   atomic.Uint64 // likewise
	peakLoads     int32         // most keys with loads since the map shrank
	peakFences    int32
	spare         atomic.Pointer[load[K, V]] // for the next load; it may be of another shard
	order         eviction.Policy            // nil while there is no limit of any kind
	born          []moment                   // when values were stored, if the cache keeps their ages
	due           []deadline                 // when they are to be loaded anew, with Refresh or Grace; see renewal.go
	moved         *table[K, V]               // the larger table, once the shard is split

	lost lostKeys

	restored uint64 // entries stored by Restore

	fetched uint32 // without meaning: it makes the reads of lookAhead count

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
	return i, ok && !s.expired(i)
}

// expired reports whether the deadline of entry i has passed. If it has, the entry is
// dead from now on: a reader that saw it alive just before can no longer extend it, so
// nobody finds what another caller has missed.
func (s *shard[K, V]) expired(i uint32) bool {
	return !s.common.clock.far(s.entries[i].deadline.load()) && s.die(i)
}

// die is expired for a deadline that is not far.
func (s *shard[K, V]) die(i uint32) bool {
	e := &s.entries[i]
	for {
		deadline := e.deadline.load()
		if !s.common.clock.passed(deadline) {
			return false
		}
		if deadline < 0 || e.deadline.swap(deadline, -deadline) {
			return true
		}
	}
}

// causeOr returns the cause for which entry i is removed: Expired if its deadline and
// Grace have passed and it only waits for the wheel, and else the one given.
func (s *shard[K, V]) causeOr(cause Cause, i uint32) Cause {
	if s.gone(i) {
		return Expired
	}
	return cause
}

// remove takes entry i, whose key has hash h, out of the cache.
func (s *shard[K, V]) remove(i uint32, h uint64, cause Cause) {
	weight := s.detach(i, h, cause)
	if s.limited {
		s.common.budget.release(weight)
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
		s.unanchor()
	}
	var key K
	var value V
	e := &s.entries[i]
	e.key, e.value = key, value // the slot must not keep them alive
	s.freeSlot(i)
	s.len--
	return weight
}

// weight returns the weight of entry i.
func (s *shard[K, V]) weight(i uint32) uint32 {
	if s.weights == nil {
		return 1
	}
	return s.weights[i]
}

// freeSlot puts a slot at the head of the free ones.
func (s *shard[K, V]) freeSlot(i uint32) {
	s.entries[i].deadline.set(freeSlots + int64(s.free))
	s.free = i
}

// afterFree returns the free slot that follows free slot i.
func (s *shard[K, V]) afterFree(i uint32) uint32 {
	if next := s.entries[i].deadline.load(); next != unused {
		return uint32(next - freeSlots)
	}
	return i + 1
}

// noteRemoval records that entry i, whose key has hash h, is removed: in the ages, fences,
// counts and events.
func (s *shard[K, V]) noteRemoval(i uint32, h uint64, cause Cause) {
	e := &s.entries[i]
	if s.noted && cause == Evicted && s.born != nil {
		s.common.evictedAge.Observe(s.born[i].until(s.common.clock.moment()))
	}
	switch cause {
	case Expired: // the key has had no value since the deadline, so nothing changes now
	case Evicted:
		s.passEviction(e.key)
	default:
		s.breakFences(e.key)
	}
	s.lost.add(h, cause, len(s.entries))
	s.countRemoval(h, e, cause)
}

// countRemoval counts a value that is removed and queues the event for OnRemove.
func (s *shard[K, V]) countRemoval(h uint64, e *entry[K, V], cause Cause) {
	s.removals[cause-Expired]++
	if s.common.runner != nil {
		s.report(h, e, cause)
	}
}

// report queues an event. The lock of the shard is held, which keeps the events of a key
// in order.
func (s *shard[K, V]) report(h uint64, e *entry[K, V], cause Cause) {
	s.common.runner.Push(h, Event[K, V]{e.key, e.value, cause})
	s.reported = true
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

// This file has a shard: its arrays, its lock, and how an entry is found in it.

package cache

import (
	"math"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/cache/internal/lost"
	"github.com/pinwheel-cache/pinwheel/internal/biased"
	"github.com/pinwheel-cache/pinwheel/internal/eviction"
	"github.com/pinwheel-cache/pinwheel/internal/index"
	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

// batch is how many tasks or entries one hold of a shard's lock handles at most: some 5 µs of
// work, or 20 if all of it comes from memory.
const batch = 64

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
//   - A shard that is split has no loads and fences, and never will, and only those entries that
//     walks have pinned, as they were.
type shard[K comparable, V any] struct {
	// What a Get reads and only a change of size writes: a cache line.
	index   index.Index
	entries []entry[K, V]
	marks   *eviction.Marks // of order; nil while there is no limit of any kind
	common  *common[K, V]

	ring     *ring.Ring // nil before the first TTL
	weights  []uint32   // if the cache weighs
	caps     []int64    // deadlines by TTL, if Idle makes those of entries differ
	limited  bool       // entries take their weight, or 1, from the budget
	noted    bool       // the cache has a watch or keeps ages: one check for a Set without them
	closed   bool
	reported bool    // an event was queued during this hold of lock
	split    bool    // its entries are in the shards of moved
	anchored bool    // an entry waits to expire, in a cache with OnRemove
	strain   int16   // by writes that had to wait, while the table is growing
	loading  int     // loads under way
	fences   *fences // who must know of a change of their key; nil before the first Compute

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
	loads         *loads[K, V]               // nil before the first
	spare         atomic.Pointer[load[K, V]] // for the next load; it may be of another shard
	order         eviction.Policy            // nil while there is no limit of any kind
	born          []clock.Moment             // when values were stored, if the cache keeps their ages
	due           []clock.Deadline           // when they are to be loaded anew, with Refresh or Grace; see due.go
	moved         *table[K, V]               // the larger table, once the shard is split

	lost lost.Keys

	restored uint64 // entries stored by Restore

	sink uint32 // of no meaning: without it the compiler would drop what prefetches read

	// evictable counts the entries with a weight above 0, in a cache that weighs. It
	// changes under the lock; other shards that need room read it without.
	evictable atomic.Int32

	// earlier has the entries that the next tick looks at: nil without any. It makes the
	// shard 512 bytes: no two shards share a cache line.
	earlier *earlier
}

const (
	freeSlots = math.MinInt64 // a deadline from here on is none: it says which slot is the next free one
	unused    = 0             // the slot is free, and so are all that follow
)

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

// findLive is find for entries that have not expired.
func (s *shard[K, V]) findLive(h uint64, key K) (i uint32, ok bool) {
	i, ok = s.find(h, key)
	return i, ok && !s.checkExpired(i)
}

// checkExpired reports whether the deadline of entry i has passed. If it has, checkExpired
// marks the entry as dead: a reader that saw it alive just before can no longer extend it. So
// nobody finds what another caller has missed.
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

// A value in Grace has expired, but may stand in. Its deadline is still the one by TTL, so
// all methods but the Takes find it expired, as in a cache without Grace. The wheel visits
// at the deadline and postpones the task to the end of Grace. Setting the task there at once
// would save a visit, but the horizon reaches only to the next visit, so every read would
// read the clock.

// removalTime returns when entry i is removed: at its deadline or, if that is by TTL, at the
// end of Grace.
func (s *shard[K, V]) removalTime(i uint32) int64 {
	t := clock.TimeOf(s.entries[i].deadline.Get())
	if s.common.time.grace == 0 || s.caps != nil && t < s.caps[i] {
		return t
	}
	return clock.After(t, s.common.time.grace)
}

// checkGone reports whether entry i has expired and is not in Grace any more. Like checkExpired
// it marks an entry that has expired.
func (s *shard[K, V]) checkGone(i uint32) bool {
	return s.checkExpired(i) && (s.common.time.grace == 0 || s.common.time.clock.Passed(s.removalTime(i)))
}

// causeOr returns the cause for which entry i is removed: Expired if its deadline and
// Grace have passed and it only waits for the wheel, and else the one given.
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

// weight returns the weight of entry i.
func (s *shard[K, V]) weight(i uint32) uint32 {
	if s.weights == nil {
		return 1
	}
	return s.weights[i]
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

// countMiss counts a miss of a key with hash h that has no entry. The lock must be held, at
// least for reading.
func (s *shard[K, V]) countMiss(h uint64) {
	switch s.lost.Miss(h) {
	case lost.Expired:
		s.missesExpired.Add(1)
	case lost.Evicted:
		s.missesEvicted.Add(1)
	}
}

package cache

import (
	"sync/atomic"

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
//   - The ring has a task for exactly the entries with a deadline. It comes by the
//     task no later than at the first tick that is not before the deadline.
type shard[K comparable, V any] struct {
	// What a Get reads and only a change of size writes: a cache line.
	index   index.Index
	entries []entry[K, V]
	order   *lru.Order // nil while there is no limit of any kind
	cache   *Cache[K, V]

	ring     *timingwheel.Ring // nil before the first TTL
	weights  []uint32          // if the cache weighs
	caps     []int64           // deadlines by TTL, if Idle makes those of entries differ
	limited  bool              // entries take their weight, or 1, from the budget
	noted    bool              // the cache has a watch or keeps ages: the one thing a Set looks at if not
	closed   bool
	reported bool                // an event was queued under the present hold of lock
	pins     atomic.Int32        // walks under way that need slot numbers to stay
	flights  map[K]*flight[K, V] // loads under way; nil before the first
	fences   map[K]*fence        // who must know of a change of their key

	// The end of lock, which every write changes, and the beginning of removals,
	// of which an overwrite or an eviction changes one, are a cache line together:
	// the only one of the shard that it takes from another processor.
	lock     biased.Lock
	removals [Cleared]uint64 // by cause, from Expired on

	free          uint32 // the first free slot; the others follow from it
	len           int
	missesExpired atomic.Uint64 // of those that lock counts
	born          []moment      // when values were stored, if the cache keeps their ages

	_ [136]byte // to a power of two, and so that no two shards meet in a cache line
}

// An entry of a shard. In a free slot key and value are zero, and deadline is
// negative: -1 minus the next free slot.
type entry[K comparable, V any] struct {
	deadline deadline // or never
	key      K
	value    V
}

// A life is how long an entry is to live.
type life struct {
	deadline int64 // the sooner of cap and the end of idleness
	cap      int64 // by TTL
}

var forever = life{never, never}

func (e *entry[K, V]) live() bool { return e.deadline.load() >= 0 }

// find returns the slot of a key. It is written out as [index.Index.Home] says, here
// and in the keyed wheel: shared by a function with a callback it would be slower.
func (s *shard[K, V]) find(h uint64, key K) (i uint32, ok bool) {
	home := s.index.Home(h)
	for m := home.Match(h); m != 0; m = m.Next() {
		if i := home.Slot(m); s.entries[i].key == key {
			return i, true
		}
	}
	if home.Spilled() {
		return s.index.FindSpilled(h, func(i uint32) bool { return s.entries[i].key == key })
	}
	return 0, false
}

// findLive is find for entries that have not expired.
func (s *shard[K, V]) findLive(h uint64, key K) (i uint32, ok bool) {
	i, ok = s.find(h, key)
	return i, ok && !s.expired(i)
}

// put stores a value for a key and ends the loads of it that are under way. If
// there is too little room in the cache, and nothing left to evict in this
// shard, it stores nothing and returns how much is missing.
func (s *shard[K, V]) put(h uint64, key K, value V, weight uint32, l life) (missing uint64) {
	s.breakFences(key)
	if s.closed || s.cache.hasher.Lost(key) {
		return 0
	}
	i, found := s.find(h, key)
	if found && !s.cache.clock.far(s.entries[i].deadline.load()) && s.die(i) { // expired, inlined
		s.remove(i, h, Expired)
		found = false
	}
	if s.cache.weigh != nil {
		return s.putWeighed(i, found, h, key, value, weight, l)
	}
	switch {
	case found:
		s.replace(i, h, value)
	case s.limited && !s.cache.budget.reserve(1):
		if s.len == 0 {
			return 1
		}
		i = s.takeOver(h, key, value)
	default:
		i = s.insert(h, key, value)
	}
	s.setLife(i, l)
	if s.noted {
		s.note(i, h, l)
	}
	return 0
}

// note tells those who keep account of it that entry i, whose key has hash h, has a
// new value.
func (s *shard[K, V]) note(i uint32, h uint64, l life) {
	if s.born != nil {
		s.born[i] = s.cache.clock.moment()
	}
	s.cache.watch.stored(h, l.cap)
}

// takeOver evicts the entry that is next by the order and gives its slot to a key
// that has no entry. The deadline is still that of the old one, as its task is.
func (s *shard[K, V]) takeOver(h uint64, key K, value V) uint32 {
	i, _ := s.order.Victim()
	e := &s.entries[i]
	old := s.cache.hasher.Hash(e.key)
	s.depart(i, old, s.causeOr(Evicted, i))
	s.index.Remove(old, i)
	s.index.Insert(h, i)
	s.order.Renew(i)
	e.key, e.value = key, value
	return i
}

// insert gives a key that has no entry one, without a deadline. Its weight is
// reserved.
func (s *shard[K, V]) insert(h uint64, key K, value V) uint32 {
	if s.len == len(s.entries) {
		s.grow()
	}
	i := s.free
	e := &s.entries[i]
	s.free = uint32(-1 - e.deadline.load())
	e.deadline.set(never)
	e.key, e.value = key, value
	s.index.Insert(h, i)
	if s.order != nil {
		s.order.Insert(i)
	}
	s.len++
	return i
}

// replace changes the value of an entry, which has not expired.
func (s *shard[K, V]) replace(i uint32, h uint64, value V) {
	e := &s.entries[i]
	s.leave(h, e, Replaced)
	e.value = value
	if s.order != nil {
		s.order.Mark(i)
	}
}

// expired reports whether the deadline of entry i has passed. If it has, the
// entry is dead: a reader that saw it alive just before can extend it no more,
// so that nobody finds again what somebody has missed.
func (s *shard[K, V]) expired(i uint32) bool {
	return !s.cache.clock.far(s.entries[i].deadline.load()) && s.die(i)
}

// die is expired for a deadline that is not far.
func (s *shard[K, V]) die(i uint32) bool {
	e := &s.entries[i]
	for {
		deadline := e.deadline.load()
		if !s.cache.clock.passed(deadline) {
			return false
		}
		if deadline == dead || e.deadline.swap(deadline, dead) {
			return true
		}
	}
}

// causeOr returns the cause for which entry i is removed: the one given, unless
// it has expired already and only waits for the wheel.
func (s *shard[K, V]) causeOr(cause Cause, i uint32) Cause {
	if s.expired(i) {
		return Expired
	}
	return cause
}

// evict removes the entry that is next by the order. It returns false if there
// is none, or if a Resize under way has the shard not limited.
func (s *shard[K, V]) evict() bool {
	if !s.limited || s.len == 0 {
		return false
	}
	i, _ := s.order.Victim()
	s.remove(i, s.cache.hasher.Hash(s.entries[i].key), s.causeOr(Evicted, i))
	return true
}

// remove takes entry i, whose key has hash h, out of the cache.
func (s *shard[K, V]) remove(i uint32, h uint64, cause Cause) {
	weight := s.detach(i, h, cause)
	if s.limited {
		s.cache.budget.release(weight)
	}
}

// detach takes entry i, whose key has hash h, out of all arrays and returns its
// weight, which the budget still counts.
func (s *shard[K, V]) detach(i uint32, h uint64, cause Cause) (weight uint64) {
	s.depart(i, h, cause)
	weight = uint64(s.weight(i))
	s.index.Remove(h, i)
	if s.order != nil {
		s.order.Remove(i)
	}
	if s.ring != nil {
		s.ring.Remove(i)
	}
	var key K
	var value V
	e := &s.entries[i]
	e.key, e.value = key, value // they are not to be kept alive from here
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
	s.entries[i].deadline.set(-1 - int64(s.free))
	s.free = i
}

// depart tells whom it concerns that entry i, whose key has hash h, ceases to be.
func (s *shard[K, V]) depart(i uint32, h uint64, cause Cause) {
	e := &s.entries[i]
	if s.noted && cause == Evicted && s.born != nil {
		s.cache.evictedAge.Observe(s.born[i].until(s.cache.clock.moment()))
	}
	if cause != Expired { // it has had no value since its deadline, so nothing changes now
		s.breakFences(e.key)
	}
	s.leave(h, e, cause)
}

// leave counts a value that leaves the cache and queues the event for OnRemove.
func (s *shard[K, V]) leave(h uint64, e *entry[K, V], cause Cause) {
	s.removals[cause-Expired]++
	if s.cache.runner != nil {
		s.report(h, e, cause)
	}
}

// report queues an event. The lock that is held here gives the events of a key
// their order.
func (s *shard[K, V]) report(h uint64, e *entry[K, V], cause Cause) {
	s.cache.runner.Push(h, Event[K, V]{e.key, e.value, cause})
	s.reported = true
}

// unlock gives the lock for writing back. It reports whether an event was
// queued under it: then settle must follow.
func (s *shard[K, V]) unlock() (reported bool) {
	reported = s.reported
	if reported {
		s.reported = false
	}
	s.lock.Unlock()
	return reported
}

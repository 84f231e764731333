// This file has all uses of a shard's eviction order, except the Mark in Get.

package cache

import "github.com/pinwheel-cache/pinwheel/internal/eviction"

// A shard without a limit has no order.

// use marks entry i as used.
func (s *shard[K, V]) use(i uint32) {
	if s.marks != nil {
		s.marks.Mark(i)
	}
}

// enlist adds entry i, whose key has hash h, to the order.
func (s *shard[K, V]) enlist(i uint32, h uint64) {
	if s.order != nil {
		s.order.Insert(i, h)
	}
	s.countEvictable(1)
}

// delist takes entry i, which is being removed, out of the order.
func (s *shard[K, V]) delist(i uint32) {
	if s.order != nil {
		s.order.Remove(i)
	}
	s.countEvictable(-1)
}

// countEvictable counts entries that enter or leave the order, for shards that look for
// room.
func (s *shard[K, V]) countEvictable(n int32) {
	if s.weights != nil {
		s.evictable.Add(n)
	}
}

// relist changes the slot number of an entry in the order.
func (s *shard[K, V]) relist(from, to uint32) {
	if s.order != nil {
		s.order.Rename(from, to)
	}
}

// resizeOrder makes room in the order for n slots.
func (s *shard[K, V]) resizeOrder(n int) {
	if s.order == nil {
		return
	}
	s.order.Resize(n)
	if s.weights != nil {
		s.order.Weigh(s.weights)
	}
}

// makeOrder makes the order of a shard that had no limit so far, with its entries by slot
// number.
func (s *shard[K, V]) makeOrder() {
	s.order = newOrder(s.common.size.policy)
	s.resizeOrder(len(s.entries))
	s.marks = s.order.Marks()
	for i := range s.entries {
		if s.entries[i].live() {
			s.order.Insert(uint32(i), s.hashOf(uint32(i)))
		}
	}
}

// newOrder returns an empty order by a policy.
func newOrder(p Policy) eviction.Policy {
	if p == Adaptive {
		return new(eviction.Adaptive)
	}
	return new(eviction.Order)
}

// few is the most entries of a shard in which victim looks at all entries.
const few = 16

// victim returns the entry to evict, the hash of its key and the cause, and leaves it where it
// is. It returns false if there is none. It is the next by the order, or in a shard of few entries
// one that has expired since the last tick. The order may remember the key, as it may come
// back. An entry that has expired would be no hit if it had stayed, so its key is not
// remembered.
func (s *shard[K, V]) victim() (i uint32, h uint64, cause Cause, ok bool) {
	if s.len <= few && s.ring != nil {
		for i := range uint32(len(s.entries)) {
			if s.entries[i].live() && s.checkExpired(i) {
				return i, s.hashOf(i), s.causeOr(Evicted, i), true
			}
		}
	}
	s.lookAhead()
	for {
		if i, ok = s.order.Victim(); !ok {
			return 0, 0, Evicted, false
		}
		h = s.hashOf(i)
		if !s.common.time.clock.Far(s.entries[i].deadline.Get()) && s.markIfPassed(i) { // checkExpired, inlined
			return i, h, s.causeOr(Evicted, i), true
		}
		if !s.order.Promote(i, h) {
			return i, h, Evicted, true
		}
	}
}

// lookAhead reads what the next evictions need, for several of them at once: first all
// entries, then all that their hashes lead to.
func (s *shard[K, V]) lookAhead() {
	next := s.order.Ahead()
	if len(next) == 0 {
		return
	}
	for k := range next {
		key := s.entries[next[k].Entry].key
		h, hashed := s.common.hasher.Word(key) // hashOf, inlined
		if !hashed {
			h = s.common.hasher.Hash(key)
		}
		next[k].Hash = h
	}
	read := s.order.Prefetch(next)
	for k := range next {
		read += s.index.PrefetchHome(next[k].Hash)
	}
	s.sink += uint32(read)
}

// firstBut returns the entry that is next by the order, other than entry i. It returns false
// if there is no other.
func (s *shard[K, V]) firstBut(i uint32) (j uint32, ok bool) {
	for j := range s.order.All() {
		if j != i {
			return j, true
		}
	}
	return 0, false
}

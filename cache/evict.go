package cache

import "github.com/pinwheel-cache/pinwheel/lru"

// All that a shard asks of its eviction order is in this file, but for the Mark in
// [Cache.Get]. A shard without a limit has no order.

// use marks entry i as used.
func (s *shard[K, V]) use(i uint32) {
	if s.marks != nil {
		s.marks.Mark(i)
	}
}

// admit returns the place in the order for a key with hash h, which has no entry. full
// says whether another entry has to go for it.
func (s *shard[K, V]) admit(h uint64, full bool) lru.Place {
	if s.order == nil {
		return 0
	}
	return s.order.Admit(h, full)
}

// enlist adds entry i, which is new, to the order.
func (s *shard[K, V]) enlist(i uint32, at lru.Place) {
	if s.order != nil {
		s.order.Insert(i, at)
	}
}

// delist takes entry i, which is being removed and whose key has hash h, out of the
// order. One that is evicted may be wanted again. What has expired or was removed would
// be no hit if it had stayed, and so is not remembered.
func (s *shard[K, V]) delist(i uint32, h uint64, cause Cause) {
	switch {
	case s.order == nil:
	case cause == Evicted:
		s.order.Evict(i, h)
	default:
		s.order.Remove(i)
	}
}

// relist gives entry from the slot number to in the order.
func (s *shard[K, V]) relist(from, to uint32) {
	if s.order != nil {
		s.order.Rename(from, to)
	}
}

// resizeOrder makes room in the order for n slots.
func (s *shard[K, V]) resizeOrder(n int) {
	if s.order != nil {
		s.order.Resize(n)
	}
}

// makeOrder makes the order of a shard that had no limit so far, with the entries
// there are by their slot numbers.
func (s *shard[K, V]) makeOrder() {
	s.order = newOrder(s.common.policy)
	s.order.Resize(len(s.entries))
	s.marks = s.order.Marks()
	for i := range s.entries {
		if s.entries[i].live() {
			s.order.Insert(uint32(i), 0)
		}
	}
}

// newOrder returns an empty order by a policy.
func newOrder(p Policy) lru.Policy {
	if p == Adaptive {
		return new(lru.Adaptive)
	}
	return new(lru.Order)
}

// victim returns the entry to evict next for one that goes to a place, and leaves it
// where it is. It returns false if there is none.
func (s *shard[K, V]) victim(at lru.Place) (i uint32, ok bool) { return s.order.Victim(at) }

// firstBut returns the entry that is next by the order, of which there are two, if
// entry i is to stay.
func (s *shard[K, V]) firstBut(i uint32) (j uint32) {
	for j = range s.order.All() {
		if j != i {
			break
		}
	}
	return j
}

// takeOver evicts the entry that is next by the order and gives its slot to a key
// that has no entry. The deadline is still that of the old one, as its task is.
func (s *shard[K, V]) takeOver(u *update[K, V]) uint32 {
	at := s.admit(u.hash, true)
	i, _ := s.victim(at)
	e := &s.entries[i]
	old, cause := s.common.hasher.Hash(e.key), s.causeOr(Evicted, i)
	s.noteRemoval(i, old, cause)
	s.index.Remove(old, i)
	s.index.Insert(u.hash, i)
	s.delist(i, old, cause)
	s.enlist(i, at)
	e.key, e.value = u.key, u.value
	return i
}

// evict removes the entry that is next by the order. It returns false if there
// is none, or if a Resize under way has the shard not limited.
func (s *shard[K, V]) evict() bool {
	if !s.limited || s.len == 0 {
		return false
	}
	i, _ := s.victim(0)
	s.remove(i, s.common.hasher.Hash(s.entries[i].key), s.causeOr(Evicted, i))
	return true
}

// makeRoom evicts from other shards than that of h until the budget has n left,
// or they are empty. It reports whether settle must follow.
func (c *Cache[K, V]) makeRoom(h uint64, n uint64) (reported bool) {
	for evicted := true; evicted; {
		evicted = false
		for k := uint64(1); k <= c.mask; k++ {
			if !c.budget.lacks(n, c.budget.used.Load()) {
				return reported
			}
			s := c.shardOf(h + k<<8)
			s.lock.Lock()
			if s.evict() {
				evicted = true
				s.maybeShrink()
			}
			reported = s.unlock() || reported
		}
	}
	return reported
}

package cache

import "github.com/pinwheel-cache/pinwheel/lru"

// All that a shard asks of its eviction order is in this file, but for the Mark in
// [Cache.Get]. A shard without a limit has no order.

// use marks entry i as used.
func (s *shard[K, V]) use(i uint32) {
	if s.order != nil {
		s.order.Mark(i)
	}
}

// enlist adds entry i, which is new, to the order.
func (s *shard[K, V]) enlist(i uint32) {
	if s.order != nil {
		s.order.Insert(i)
	}
}

// delist takes entry i, which is being removed, out of the order.
func (s *shard[K, V]) delist(i uint32) {
	if s.order != nil {
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
	s.order = new(lru.Order)
	s.order.Resize(len(s.entries))
	for i := range s.entries {
		if s.entries[i].live() {
			s.order.Insert(uint32(i))
		}
	}
}

// victim returns the entry to evict next, which stays where it is. It returns false if
// there is none.
func (s *shard[K, V]) victim() (i uint32, ok bool) { return s.order.Victim() }

// takeOver evicts the entry that is next by the order and gives its slot to a key
// that has no entry. The deadline is still that of the old one, as its task is.
func (s *shard[K, V]) takeOver(u *update[K, V]) uint32 {
	i, _ := s.victim()
	e := &s.entries[i]
	old := s.common.hasher.Hash(e.key)
	s.noteRemoval(i, old, s.causeOr(Evicted, i))
	s.index.Remove(old, i)
	s.index.Insert(u.hash, i)
	s.order.Renew(i)
	e.key, e.value = u.key, u.value
	return i
}

// evict removes the entry that is next by the order. It returns false if there
// is none, or if a Resize under way has the shard not limited.
func (s *shard[K, V]) evict() bool {
	if !s.limited || s.len == 0 {
		return false
	}
	i, _ := s.victim()
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

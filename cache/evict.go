package cache

// What a shard asks of its eviction order, apart from the Mark of a Get.

// use marks entry i as used.
func (s *shard[K, V]) use(i uint32) {
	if s.order != nil {
		s.order.Mark(i)
	}
}

// takeOver evicts the entry that is next by the order and gives its slot to a key
// that has no entry. The deadline is still that of the old one, as its task is.
func (s *shard[K, V]) takeOver(u *update[K, V]) uint32 {
	i, _ := s.order.Victim()
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
	i, _ := s.order.Victim()
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

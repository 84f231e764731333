// This file chooses the entry that a shard evicts, and evicts it. The order in which it chooses is in
// turn.go.

package cache

// makeOrder makes the order of a shard at its first limit, with its entries by slot number. After
// Resize(0) the order stays, so the next limit finds it.
func (s *shard[K, V]) makeOrder() {
	if s.turn.order != nil {
		return
	}
	s.turn.order = newOrder(s.common.size.policy)
	s.turn.resize(len(s.entries), false) // the weights stay
	s.marks = s.turn.order.Marks()
	for i := range s.entries {
		if s.entries[i].live() {
			s.turn.order.Insert(uint32(i), s.hashOf(uint32(i)))
		}
	}
}

// few is the most entries of a shard of which victim looks at each.
const few = 16

// victim returns the entry to evict, the hash of its key and the cause, or false if there is none. It
// does not remove the entry. A shard of few entries first evicts one that has expired; otherwise the
// order says which is next. The order may remember the key, in case it comes back. It does not if the
// entry has expired, which would be no hit if it had stayed.
func (s *shard[K, V]) victim() (i uint32, h uint64, cause Cause, ok bool) {
	if s.slots.len <= few && s.lives.any() {
		for i := range uint32(len(s.entries)) {
			if s.entries[i].live() && s.checkExpired(i) {
				return i, s.hashOf(i), s.causeOr(Evicted, i), true
			}
		}
	}
	s.lookAhead()
	for {
		if i, ok = s.turn.order.Victim(); !ok {
			return 0, 0, Evicted, false
		}
		h = s.hashOf(i)
		if !s.common.time.clock.Far(s.entries[i].deadline.Get()) && s.markIfPassed(i) { // checkExpired, inlined
			return i, h, s.causeOr(Evicted, i), true
		}
		if !s.turn.order.Promote(i, h) {
			return i, h, Evicted, true
		}
	}
}

// lookAhead reads what the next few evictions need into the processor's cache: first the entries, then
// what their hashes lead to.
func (s *shard[K, V]) lookAhead() {
	next := s.turn.order.Ahead()
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
	read := s.turn.order.Prefetch(next)
	for k := range next {
		read += s.index.PrefetchHome(next[k].Hash)
	}
	s.turn.sunk(read)
}

// evict removes the entry that is next by the order. It returns false if there is none, or
// if a Resize has lifted the limit of the shard.
func (s *shard[K, V]) evict() bool {
	if !s.limited {
		return false
	}
	i, h, cause, ok := s.victim()
	if !ok {
		return false
	}
	s.remove(i, h, cause)
	return true
}

// evictSurplus evicts up to n entries while there is a surplus. It reports whether
// settle must follow.
func (s *shard[K, V]) evictSurplus(n int) (reported bool) {
	s.lock.Lock()
	for ; n > 0 && s.common.size.surplus() > 0 && s.evict(); n-- {
	}
	s.maybeShrink()
	return s.unlock()
}

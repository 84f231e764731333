package cache

import "iter"

// All returns an iterator over the entries, in no particular order. It holds no
// lock while the body of the loop runs, which may use the cache; what others
// change meanwhile it may or may not see. An entry that stays all the while is
// seen exactly once. A key that is removed and stored again may be seen twice.
// It counts nothing and marks nothing as used.
func (c *Cache[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range c.shards {
			if !c.shards[i].each(yield) {
				return
			}
		}
	}
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

// each calls yield for the entries of the shard until it returns false, which
// each then returns too.
func (s *shard[K, V]) each(yield func(K, V) bool) bool {
	s.pin()
	defer s.unpin()
	var pairs []pair[K, V]
	for from, more := 0, true; more; {
		pairs, from, more = s.copyLive(pairs[:0], from)
		for _, p := range pairs {
			if !yield(p.key, p.value) {
				return false
			}
		}
		clear(pairs) // hold nothing while yield runs again
	}
	return true
}

// copyLive appends a batch of entries, from a slot on, to pairs. It returns the
// slot to go on with, and whether there is one.
func (s *shard[K, V]) copyLive(pairs []pair[K, V], from int) ([]pair[K, V], int, bool) {
	r := s.lock.RLock()
	defer s.lock.RUnlock(r)
	to := min(from+batch, len(s.entries))
	for i := from; i < to; i++ {
		e := &s.entries[i]
		if e.live() && !s.expired(uint32(i)) {
			pairs = append(pairs, pair[K, V]{e.key, e.value})
		}
	}
	return pairs, to, to < len(s.entries)
}

// pin keeps the entries in their slots until unpin: the shard may grow, but not
// shrink.
func (s *shard[K, V]) pin() {
	r := s.lock.RLock()
	s.pins.Add(1)
	s.lock.RUnlock(r)
}

func (s *shard[K, V]) unpin() { s.pins.Add(-1) }

// Clear removes all entries that are in the cache when it is called, and keeps
// loads that are under way from being stored. Entries that are stored while it
// runs may stay.
func (c *Cache[K, V]) Clear() {
	c.watch.Load().cleared()
	for i := range c.shards {
		c.shards[i].clear(c.settle)
	}
}

// clear removes the entries of the shard, a batch per hold of the lock. After each it
// calls settle, with what unlock returned.
func (s *shard[K, V]) clear(settle func(reported bool)) {
	s.pin()
	for from, more := 0, true; more; {
		var reported bool
		from, more, reported = s.clearBatch(from)
		settle(reported)
	}
	s.unpin()
	s.lock.Lock()
	s.maybeShrink()
	s.lock.Unlock()
}

// clearBatch removes the entries of a batch of slots, from one on. It returns the slot
// to go on with, and whether there is one.
func (s *shard[K, V]) clearBatch(from int) (next int, more, reported bool) {
	s.lock.Lock()
	if from == 0 {
		s.breakAllFences()
	}
	to := min(from+batch, len(s.entries))
	for i := from; i < to; i++ {
		if e := &s.entries[i]; e.live() {
			s.remove(uint32(i), s.common.hasher.Hash(e.key), s.causeOr(Cleared, uint32(i)))
		}
	}
	more = to < len(s.entries)
	return to, more, s.unlock()
}

// This file has All and Entries, and how a walk pins the slots of a shard.

package cache

import "iter"

// All returns an iterator over the entries, in no particular order. It holds no lock while
// the body of the loop runs, so the body may use the cache. All may or may not see
// concurrent changes, but it yields no value after its deadline or its removal. It yields
// an entry that stays throughout exactly once, and may yield a key that is removed and
// stored again twice. It counts no lookups and marks nothing as used.
func (c *Cache[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		c.each(func(key K, value V, _ int64) bool { return yield(key, value) })
	}
}

// Entries is [Cache.All] with the time that each entry has left.
func (c *Cache[K, V]) Entries() iter.Seq[Entry[K, V]] {
	return func(yield func(Entry[K, V]) bool) {
		c.each(func(key K, value V, deadline int64) bool {
			return yield(Entry[K, V]{key, value, c.common.time.until(deadline)})
		})
	}
}

// each calls yield for the entries, with their deadlines, until it returns false.
func (c *Cache[K, V]) each(yield func(key K, value V, deadline int64) bool) {
	for s := range c.common.all() {
		if !s.each(yield) {
			return
		}
	}
}

// each is Cache.each for one shard. It returns false if yield did.
func (s *shard[K, V]) each(yield func(key K, value V, deadline int64) bool) bool {
	s.pin()
	defer s.unpin()
	for i, more := 0, true; more; {
		var f liveEntry[K, V]
		var ok bool
		if f, ok, i, more = s.nextLive(i); ok && !yield(f.key, f.value, f.deadline) {
			return false
		}
	}
	return true
}

// A liveEntry is an entry that nextLive has found.
type liveEntry[K comparable, V any] struct {
	key      K
	value    V
	deadline int64
}

// nextLive returns the first entry in a batch of slots from i on that has not expired, and
// ok if there is one. It also returns the slot after it, and whether there are more.
func (s *shard[K, V]) nextLive(i int) (f liveEntry[K, V], ok bool, after int, more bool) {
	r := s.lock.RLock()
	defer s.lock.RUnlock(r)
	for to := min(i+batch, len(s.entries)); i < to && !ok; i++ {
		if e := &s.entries[i]; e.live() && !s.checkExpired(uint32(i)) {
			f, ok = liveEntry[K, V]{e.key, e.value, e.deadline.Get()}, true
		}
	}
	return f, ok, i, i < len(s.entries)
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

// sweep calls f for the entries of the shard, a batch per hold of the lock for writing. After each
// batch it calls settle with the result of unlock.
func (s *shard[K, V]) sweep(settle func(reported bool), f func(i uint32)) {
	s.pin()
	defer s.unpin()
	for i, more := 0, true; more; {
		s.lock.Lock()
		for to := min(i+batch, len(s.entries)); i < to; i++ {
			if s.entries[i].live() {
				f(uint32(i))
			}
		}
		more = i < len(s.entries)
		settle(s.unlock())
	}
}

// DelExpired removes all expired entries and returns their number. The cache removes them
// by itself within a tick; DelExpired is for callers that cannot wait for that. It looks at
// every entry.
func (c *Cache[K, V]) DelExpired() (removed int) {
	for s := range c.common.all() {
		s.sweep(c.common.observers.settle, func(i uint32) {
			if s.checkGone(i) {
				s.remove(i, s.hashOf(i), Expired)
				removed++
			}
		})
	}
	return removed
}

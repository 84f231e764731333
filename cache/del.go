// This file has Del, DelMany, GetAndDel and Clear. DelFunc has a file of its own.

package cache

// Del removes a key and reports whether it had a value whose deadline has not passed. A
// load of the key that is under way is not stored.
func (c *Cache[K, V]) Del(key K) bool {
	h := c.common.hasher.Hash(key)
	s := c.common.lock(h)
	live := s.del(h, key)
	c.common.observers.settle(s.unlock())
	return live
}

// DelMany is Del for several keys, and returns how many had a value.
func (c *Cache[K, V]) DelMany(keys ...K) (removed int) {
	for _, key := range keys {
		if c.Del(key) {
			removed++
		}
	}
	return removed
}

// GetAndDel is [Cache.Del], but returns the value that the key had and true, or false if
// there was none or it had expired. It counts as neither a hit nor a miss.
func (c *Cache[K, V]) GetAndDel(key K) (value V, ok bool) {
	h := c.common.hasher.Hash(key)
	s := c.common.lock(h)
	if i, found := s.findLive(h, key); found {
		value = s.entries[i].value
	}
	ok = s.del(h, key)
	c.common.observers.settle(s.unlock())
	return value, ok
}

// Clear removes all entries that are in the cache when it is called, and keeps the values
// of loads under way from being stored. Entries that are stored while it runs may stay.
func (c *Cache[K, V]) Clear() {
	c.common.watch.Load().cleared()
	for s := range c.common.all() {
		if !s.drop() {
			s.clear(c.common.observers.settle)
		}
	}
	c.common.dropErrors()
}

// drop removes all entries of the shard in one hold of the lock, by dropping its arrays. It
// returns false, and does nothing, if OnRemove must be called for each entry, or a walk
// pins the shard.
func (s *shard[K, V]) drop() (ok bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.common.observers.runner != nil || s.slots.pinned() {
		return false
	}
	s.pending.clear()
	weight := uint64(0)
	for i := range s.entries {
		switch e := &s.entries[i]; {
		case !e.live():
		case s.checkGone(uint32(i)):
			s.remove(uint32(i), s.common.hasher.Hash(e.key), Expired)
		default:
			weight += uint64(s.turn.weight(uint32(i)))
		}
	}
	s.removals[Cleared-Expired] += uint64(s.slots.len)
	if s.limited {
		s.common.size.budget.release(weight)
	}
	s.releaseEntries(s.slots.len)
	s.turn.clear()
	s.slots.clear()
	s.marks = s.turn.split(&s.turn, 0)
	s.setSlots(min(len(s.entries), minSlots))
	return true
}

// clear removes the entries of the shard, perHold of them in each hold of the lock. Each key is passed
// once: in one hold its load becomes stale and its entry is removed. What is stored for the key after
// that stays, even in a slot that is yet to be swept.
func (s *shard[K, V]) clear(settle func(reported bool)) {
	passed := make(map[K]bool)
	s.lock.Lock()
	for l := range s.pending.all() {
		passed[l.key] = true
		if i, found := s.find(l.hash, l.key); found {
			s.remove(i, l.hash, s.causeOr(Cleared, i))
		}
	}
	s.pending.clear()
	settle(s.unlock())
	s.sweep(settle, func(i uint32) {
		if key := s.entries[i].key; !passed[key] {
			passed[key] = true
			s.remove(i, s.hashOf(i), s.causeOr(Cleared, i))
		}
	})
}

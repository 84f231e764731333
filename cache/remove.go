// This file has the methods that remove entries: Del, GetAndDel, Clear and DelExpired.

package cache

// Del removes a key and reports whether it had a value whose deadline has not passed. A
// load of the key that is under way is not stored.
func (c *Cache[K, V]) Del(key K) bool {
	h := c.shared.hasher.Hash(key)
	s := c.shared.lock(h)
	live := s.del(h, key)
	c.shared.observers.settle(s.unlocked())
	return live
}

// GetAndDel is [Cache.Del], but returns the value that the key had and true, or false if
// there was none or it had expired. It counts as neither a hit nor a miss.
func (c *Cache[K, V]) GetAndDel(key K) (value V, ok bool) {
	h := c.shared.hasher.Hash(key)
	s := c.shared.lock(h)
	if i, found := s.findLive(h, key); found {
		value = s.entries[i].value
	}
	ok = s.del(h, key)
	c.shared.observers.settle(s.unlocked())
	return value, ok
}

// Clear removes all entries that are in the cache when it is called, and keeps the values
// of loads under way from being stored. Entries that are stored while it runs may stay.
func (c *Cache[K, V]) Clear() {
	c.shared.watch.Load().cleared()
	shards := c.shared.all()
	defer c.shared.release()
	for i := range shards {
		if !shards[i].drop() {
			shards[i].clear(c.shared.observers.settle)
		}
	}
	c.shared.negatives.clear() // after the shards: loads that were under way keep no errors now
}

// drop removes the entries of the shard in one hold of the lock, with all its arrays. It
// returns false, and does nothing, if OnRemove must be called for each entry, or a walk
// needs the slots to stay.
func (s *shard[K, V]) drop() (ok bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.shared.observers.told || s.pins.Load() != 0 {
		return false
	}
	s.breakAllFences()
	weight := uint64(0)
	for i := range s.entries {
		switch e := &s.entries[i]; {
		case !e.live():
		case s.foundGone(uint32(i)):
			s.remove(uint32(i), s.shared.hasher.Hash(e.key), Expired)
		default:
			weight += uint64(s.weight(uint32(i)))
		}
	}
	s.removals[Cleared-Expired] += uint64(s.len)
	if s.limited {
		s.shared.sizing.budget.release(weight)
	}
	s.evictable.Store(0)
	s.len = 0
	if s.order != nil {
		s.order = s.order.Split(0)
		s.marks = s.order.Marks()
	}
	s.setSlots(min(len(s.entries), minSlots))
	return true
}

// clear removes the entries of the shard, in batches.
func (s *shard[K, V]) clear(settle func(debt[K, V])) {
	s.changeAll(settle, func(i uint32) { s.remove(i, s.hashOf(i), s.causeOr(Cleared, i)) })
}

// changeAll makes the loads of the shard stale and calls change for each entry, a batch per
// hold of the lock. After each batch it calls settle.
func (s *shard[K, V]) changeAll(settle func(debt[K, V]), change func(i uint32)) {
	s.pin()
	defer s.unpin()
	for from, more := 0, true; more; {
		var owed debt[K, V]
		from, more, owed = s.changeBatch(from, change)
		settle(owed)
	}
}

// changeBatch is changeAll for a batch of slots, from a slot on. It returns the next slot, and
// whether there is one.
func (s *shard[K, V]) changeBatch(from int, change func(i uint32)) (next int, more bool, owed debt[K, V]) {
	s.lock.Lock()
	if from == 0 {
		s.breakAllFences()
	}
	to := min(from+batch, len(s.entries))
	for i := from; i < to; i++ {
		if s.entries[i].live() {
			change(uint32(i))
		}
	}
	more = to < len(s.entries)
	s.unlock(&owed)
	return to, more, owed
}

// DelExpired removes all expired entries and returns their number. The cache removes them
// by itself within a tick; DelExpired is for callers that cannot wait for that. It looks at
// every entry.
func (c *Cache[K, V]) DelExpired() (removed int) {
	shards := c.shared.all()
	defer c.shared.release()
	for i := range shards {
		removed += shards[i].delExpired(c.shared.observers.settle)
	}
	return removed
}

// delExpired is DelExpired for one shard.
func (s *shard[K, V]) delExpired(settle func(debt[K, V])) (removed int) {
	s.pin()
	defer s.unpin()
	for from, more := 0, true; more; {
		var n int
		var owed debt[K, V]
		n, from, more, owed = s.delExpiredBatch(from)
		removed += n
		settle(owed)
	}
	return removed
}

// delExpiredBatch is DelExpired for a batch of slots, from a slot on. It returns the next
// slot, and whether there is one.
func (s *shard[K, V]) delExpiredBatch(from int) (removed, next int, more bool, owed debt[K, V]) {
	s.lock.Lock()
	to := min(from+batch, len(s.entries))
	for i := from; i < to; i++ {
		if e := &s.entries[i]; e.live() && s.foundGone(uint32(i)) {
			s.remove(uint32(i), s.shared.hasher.Hash(e.key), Expired)
			removed++
		}
	}
	more = to < len(s.entries)
	s.unlock(&owed)
	return removed, to, more, owed
}

// This file has Expire, ExpireFunc and ExpireAll, which make values old without removing them.

package cache

// Expire makes the value of a key expire now, and reports whether it had one that had not expired. The
// next Take loads the key anew; with the option Grace the old value stands in if that fails, or is slow.
// Without Grace it is removed at the next tick, as Expired. Of a value that is in Grace already, Expire ends
// the pause after a renewal that failed. A load of the key that is under way is not stored, and a kept error
// of the key is dropped.
func (c *Cache[K, V]) Expire(key K) bool {
	h, now := c.common.hasher.Hash(key), c.common.time.clock.MustNow()
	s := c.common.lock(h)
	defer s.lock.Unlock()
	i, found := s.find(h, key)
	s.change(h, key)
	return found && s.expireAt(i, h, now)
}

// ExpireAll makes all values expire now that the cache has when it is called, as Expire does. So a
// change of all data need not empty the cache: while the database is slow, old values stand in.
func (c *Cache[K, V]) ExpireAll() {
	now := c.common.time.clock.MustNow()
	for s := range c.common.all() {
		s.lock.Lock()
		s.pending.clear()
		s.lock.Unlock()
		s.sweep(c.common.observers.settle, func(i uint32) {
			s.expireAt(i, s.hashOf(i), now)
		})
	}
	c.common.dropErrors()
}

// ExpireFunc makes the values expire now for which expire returns true, as Expire does, and returns how
// many. It asks about the same values as [Cache.DelFunc], and calls expire as DelFunc calls its function,
// but does not count those in Grace, which have expired before. A value of a load under way for which it
// returns true is not stored. It drops all errors that Negative keeps.
func (c *Cache[K, V]) ExpireFunc(expire func(key K, value V) bool) (expired int) {
	checkFunction(expire == nil, "the function of ExpireFunc")
	c.common.time.clock.MustNow()
	return c.selectAll(expire, opExpire)
}

// expireAt makes entry i, whose key has hash h, expire now, and reports whether it had not. One in Grace
// is due now, unless a load of the key is under way whose value will count.
func (s *shard[K, V]) expireAt(i uint32, h uint64, now int64) bool {
	if s.checkExpired(i) {
		if s.common.time.renews && s.pending.current(h, s.entries[i].key) == nil {
			s.lives.dueNow(i, &s.common.time)
		}
		return false
	}
	s.setLife(i, life{deadline: now, cap: now, due: dueAt(now, 0)})
	if w := s.common.watch.Load(); w != nil {
		s.common.touched(w, h, now)
	}
	return true
}

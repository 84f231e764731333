package cache

// A value in Grace has expired, and may stand in all the same. Its deadline is that by
// TTL still, so that all but the Takes find it expired without further ado, as it is in
// a cache without Grace. The wheel comes by at the deadline and puts the task off to the
// end of Grace. To set the task to that at once would save the visit, but reads go by
// the horizon, which reaches up to the next visit: they would read the clock all the
// time.

// end returns when entry i ends: at its deadline or, if that is by TTL, with its Grace.
func (s *shard[K, V]) end(i uint32) int64 {
	t := timeOf(s.entries[i].deadline.load())
	if s.common.grace == 0 || s.caps != nil && t < s.caps[i] {
		return t
	}
	return after(t, s.common.grace)
}

// gone reports whether entry i has expired and is not in Grace any more.
func (s *shard[K, V]) gone(i uint32) bool {
	return s.expired(i) && (s.common.grace == 0 || s.common.clock.passed(s.end(i)))
}

// findUsable returns the entry of a key if it has not expired or is in Grace.
func (s *shard[K, V]) findUsable(h uint64, key K) (i uint32, ok bool) {
	i, ok = s.find(h, key)
	return i, ok && !s.gone(i)
}

// standIn returns the value that a key has after all, to a caller whose load has failed:
// one in Grace, or one that somebody has stored meanwhile.
func (c *Cache[K, V]) standIn(key K) (value V, ok bool) {
	if c.grace == 0 {
		return value, false
	}
	h := c.hasher.Hash(key)
	s, r := c.rlock(h)
	defer s.lock.RUnlock(r)
	i, ok := s.findUsable(h, key)
	if ok {
		value = s.answer(i)
	}
	return value, ok
}

// answer returns the value of entry i, which has not expired or is in Grace, for a Take.
func (s *shard[K, V]) answer(i uint32) V {
	s.use(i)
	if s.expired(i) {
		s.hitsInGrace.Add(1)
	}
	return s.entries[i].value
}

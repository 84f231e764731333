package cache

// A value in Grace has expired, but may stand in. Its deadline is still the one by TTL, so
// all methods but the Takes find it expired, as in a cache without Grace. The wheel visits
// at the deadline and postpones the task to the end of Grace. Setting the task there at once
// would save a visit, but the horizon reaches only to the next visit, so every read would
// read the clock.

// end returns when entry i is removed: at its deadline or, if that is by TTL, at the end of
// Grace.
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

// standIn returns a value to a caller whose load has failed: one in Grace, or one that
// another caller has stored meanwhile.
func (c *Cache[K, V]) standIn(key K) (value V, ok bool) {
	if c.common.grace == 0 {
		return value, false
	}
	h := c.common.hasher.Hash(key)
	s, r := c.common.rlock(h)
	defer s.lock.RUnlock(r)
	i, ok := s.findUsable(h, key)
	if ok {
		value = s.answer(i)
	}
	return value, ok
}

// answer returns the value of entry i, which has not expired or is in Grace, to a Take.
func (s *shard[K, V]) answer(i uint32) V {
	s.use(i)
	if s.common.grace > 0 && s.expired(i) {
		s.hitsInGrace.Add(1)
	}
	return s.entries[i].value
}

// This file ends a load: it decides whether the value is stored, or the error kept, and hands the result
// to the callers. After run.go; store.go calls load.conclude under the lock of the shard, to which a new
// reason not to store a value is added. Loads become stale in pending.go, by DelFunc in filters.go, and
// in join.go, where another begins beside them.

package cache

// concludeAll ends a load and those of its batch, and hands their results to the callers.
func (c *Cache[K, V]) concludeAll(l *load[K, V]) {
	reported := false
	for _, mate := range l.members() {
		reported = c.conclude(mate) || reported
		mate.publish()
	}
	reported = c.conclude(l) || reported
	l.publish()
	l.flight.Finish()
	c.common.observers.settle(reported) // after that: a callback may wait for this load, or one of the batch
}

// conclude stores the result of a load, unless the load failed or the key was changed
// meanwhile. If it returns reported, settle must follow.
func (c *Cache[K, V]) conclude(l *load[K, V]) (reported bool) {
	if l.unshared {
		return false
	}
	if l.renewal {
		c.askRetry(l)
	}
	var u update[K, V] // no literal, which would be made beside it and copied
	u.hash, u.key, u.value, u.weight, u.began = l.hash, l.key, l.value, l.weight, l.began
	u.life = c.common.time.lifeOf(l.hash, max(l.Expire, 0))
	for {
		var unasked []*filter[K, V]
		c.storeUnsettled(&u, func(s *shard[K, V]) uint64 {
			if len(l.filters) > 0 && l.err == nil && !l.stale {
				unasked, l.filters = l.filters, nil
				return 0
			}
			return l.conclude(s, &u)
		})
		if unasked == nil {
			if l.err == nil && l.Expire >= 0 && !u.refused {
				l.deadline, l.due = u.life.deadline, u.life.due
			}
			return u.reported
		}
		c.filterLoad(l, unasked)
	}
}

// conclude is the part of Cache.conclude under the lock. If there is too little room in the shard,
// it returns how much is missing, and the load goes on.
func (l *load[K, V]) conclude(s *shard[K, V], u *update[K, V]) (missing uint64) {
	s.pending.remove(l)
	dropped := l.stale || l.unkept || l.evicted && !l.flight.Awaited()
	switch {
	case dropped:
		u.refused = true // also if an attempt before had too little room
	case l.err != nil:
		if l.Gone {
			s.del(l.hash, l.key)
		}
		l.keepError(s)
	default:
		missing = l.store(s, u)
	}
	if missing > 0 {
		s.pending.add(l) // it was the newest, and no other could begin under this lock
	} else if l.renewal || s.common.time.renews {
		l.endRenewal(s, dropped)
	}
	return missing
}

// store stores the result of a load, as its fields Expire and Unchanged say. If there is too
// little room in the shard, it returns how much is missing.
func (l *load[K, V]) store(s *shard[K, V], u *update[K, V]) (missing uint64) {
	switch {
	case l.Expire < 0:
		s.del(l.hash, l.key)
		return 0
	case l.Unchanged:
		u.refused = !u.prolong(s)
		return 0
	}
	return u.put(s)
}

// prolong gives the value that the key of u has another life. It returns false if there is none.
func (u *update[K, V]) prolong(s *shard[K, V]) (ok bool) {
	i, ok := s.findUsable(u.hash, u.key)
	if !ok {
		return false
	}
	s.setLife(i, u.life)
	s.tally.store(i, u.began, &s.common.time.clock)
	s.use(i)
	if w := s.common.watch.Load(); w != nil {
		s.common.touched(w, u.hash, u.life.cap)
	}
	return true
}

// keepError keeps the error of a load if Negative says so. It does not if a DelFunc was called
// meanwhile, as that drops all errors. The lock of the shard must be held.
func (l *load[K, V]) keepError(s *shard[K, V]) {
	if l.keepErr > 0 && !s.off && l.filtered == 0 {
		if _, found := s.find(l.hash, l.key); found {
			s.del(l.hash, l.key) // the error is the answer now
		}
		s.common.negatives.set(l.key, keptError{l.err, l.began}, l.keepErr)
	}
}

// This file has renewals, which are loads of keys with a value that is due or in Grace, and says when a
// value in Grace stands in.

package cache

import "context"

// seeEnding is see for entry i, whose key has hash h, and which may be idle, due or expired. It
// counts a hit in Grace.
func (s *shard[K, V]) seeEnding(i uint32, h uint64, background bool) sight {
	c := s.common
	expired := s.checkExpired(i)
	if expired && s.checkGone(i) || !expired && c.time.idle > 0 && !s.lives.slide(i, &s.entries[i].deadline, h, &s.common.time) {
		return miss
	}
	seen := hit
	if expired || background && c.time.refresh > 0 {
		switch due, underWay := s.lives.isDue(i, &c.time); {
		case expired && (c.time.patience > 0 || !background) && (due || underWay):
			return missInGrace
		case background && due && s.lives.claim(i, &c.time):
			seen = hitDue
		}
	}
	if expired {
		s.tally.hitGrace()
	}
	return seen
}

// standsIn reports whether entry i, which is in Grace, stands in at once: during the pause
// after a renewal that failed, or if a load is under way, l, and the caller is not patient.
func (s *shard[K, V]) standsIn(i uint32, l *load[K, V], who *caller) bool {
	due, underWay := s.lives.isDue(i, &s.common.time)
	return !due && !underWay || l != nil && !who.patient
}

// beginDue begins a renewal, unless the key was stored again since it was found due, another
// caller has begun one, ctx has ended, or it would have to wait for a permit. The renewal
// joins the batch of first, if that is not nil.
func (s *shard[K, V]) beginDue(ctx context.Context, ended bool, h uint64, key K, first *load[K, V]) *load[K, V] {
	i, ok := s.findUsable(h, key)
	if !ok || !s.lives.isUnderWay(i) {
		return nil
	}
	l := s.pending.current(h, key)
	switch {
	case l != nil && l.renewal:
	case ended:
		s.lives.dueNow(i, &s.common.time)
	case l == nil:
		return s.beginRenewal(ctx, h, i, first)
	default: // l is no renewal of this value
		s.skipRenewal(i)
	}
	return nil
}

// beginRenewal begins a load in the background for entry i, whose key has hash h and no
// load to share. It joins the batch of first, if that is not nil. It returns nil if it would
// have to wait for a permit.
func (s *shard[K, V]) beginRenewal(ctx context.Context, h uint64, i uint32, first *load[K, V]) *load[K, V] {
	if s.closed || first == nil && !s.common.loads.rules.TryAcquire() {
		s.skipRenewal(i)
		return nil
	}
	who := caller{Caller: s.common.loads.rules.Background(ctx), now: s.common.time.clock.Now()}
	l := s.common.newLoad(&who, h, s.entries[i].key, first)
	if first == nil {
		l.flight.RunInBackground()
	}
	l.renew(s, i)
	s.pending.add(l)
	return l
}

// renew makes l, which is about to begin, a renewal of entry i.
func (l *load[K, V]) renew(s *shard[K, V], i uint32) {
	l.renewal = true
	l.Old, l.HasOld = s.entries[i].value, true
	s.lives.renew(i)
}

// skipRenewal postpones a renewal of entry i that cannot begin now.
func (s *shard[K, V]) skipRenewal(i uint32) {
	s.common.loads.renewals.skipped.Add(1)
	s.lives.pause(i, 0, &s.common.time)
}

// endRenewal counts a renewal that has ended. If the result was dropped or the load failed, the word
// of the entry still says that a renewal is under way. Then endRenewal sets when the entry is due
// again, unless another load has begun.
func (l *load[K, V]) endRenewal(s *shard[K, V], dropped bool) {
	failed := l.failure() != nil && !dropped
	if l.renewal {
		s.common.loads.renewals.count(failed, dropped)
	}
	i, ok := s.find(l.hash, l.key)
	if !ok || !s.lives.isUnderWay(i) || s.pending.current(l.hash, l.key) != nil {
		return
	}
	if failed {
		s.lives.pause(i, 1, &s.common.time)
	} else {
		s.lives.dueNow(i, &s.common.time)
	}
}

// standIn returns a value to a caller whose load has failed: one in Grace, or one that
// another caller has stored meanwhile.
func (c *Cache[K, V]) standIn(key K) (value V, ok bool) {
	if c.common.time.grace == 0 {
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
	if s.common.time.grace > 0 && s.checkExpired(i) {
		s.tally.hitGrace()
	}
	return s.entries[i].value
}

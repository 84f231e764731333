// This file has the renewals: loads of keys that have a value, due for Refresh or in Grace; and how
// a value in Grace stands in.

package cache

import "context"

// seeLate is see for entry i, whose key has hash h and which may be idle, due or expired: it
// returns what the caller is to do. It counts a hit in Grace.
func (s *shard[K, V]) seeLate(i uint32, h uint64, background bool) sight {
	c := s.common
	expired := s.checkExpired(i)
	if expired && s.checkGone(i) || !expired && c.time.idle > 0 && !s.lives.slide(i, &s.entries[i].deadline, h, &s.common.time) {
		return miss
	}
	first := hit
	if expired || background && c.time.refresh > 0 {
		due := s.lives.due[i].Get()
		passed := c.time.clock.Passed(due)
		switch {
		case expired && (c.time.patience > 0 || !background) && (passed || renewing(due)):
			return missInGrace
		case background && passed && s.lives.due[i].Swap(due, underWay|due&triesMask):
			first = hitDue
		}
	}
	if expired {
		s.tally.hitsInGrace.Add(1)
	}
	return first
}

// standsIn reports whether entry i, which is in Grace, stands in at once: during the pause
// after a renewal that failed, or if a load is under way, l, and the caller is not patient.
func (s *shard[K, V]) standsIn(i uint32, l *load[K, V], who *caller) bool {
	due := s.lives.due[i].Get()
	return !s.common.time.clock.Passed(due) && !renewing(due) || l != nil && !who.patient
}

// beginDue begins a renewal, unless the key was stored anew since it was found due, another
// caller has begun one, ctx has ended, or it would have to wait for a permit. The renewal
// joins the batch of first, if that is not nil.
func (s *shard[K, V]) beginDue(ctx context.Context, ended bool, h uint64, key K, first *load[K, V]) *load[K, V] {
	i, ok := s.findUsable(h, key)
	if !ok || !renewing(s.lives.due[i].Get()) {
		return nil
	}
	l := s.pending.current(h, key)
	switch {
	case l != nil && l.renewal:
	case ended:
		s.dueNow(i)
	case l == nil:
		return s.beginRenewal(ctx, h, i, first)
	default: // l does not load this value anew
		s.skipRenewal(i)
	}
	return nil
}

// dueNow makes entry i due again, as the renewal that was to begin has brought nothing.
func (s *shard[K, V]) dueNow(i uint32) {
	s.lives.due[i].Set(dueAt(s.common.time.clock.Now(), s.lives.due[i].Get()&triesMask))
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
	s.renewBy(l, i)
	s.pending.add(l)
	return l
}

// renewBy makes l, which is about to begin, a renewal of entry i.
func (s *shard[K, V]) renewBy(l *load[K, V], i uint32) {
	l.renewal = true
	l.Old, l.HasOld = s.entries[i].value, true
	s.lives.due[i].Set(underWay | s.lives.due[i].Get()&triesMask)
}

// skipRenewal postpones a renewal of entry i that cannot begin now.
func (s *shard[K, V]) skipRenewal(i uint32) {
	s.common.loads.renewals.skipped.Add(1)
	s.lives.due[i].Set(s.common.time.pauseAfter(s.lives.due[i].Get() & triesMask))
}

// endRenewal counts a renewal that has ended, and sets when the entry of the key is due
// again if the load has left it under way, and no other one has begun: if the result was
// dropped or the load failed.
func (s *shard[K, V]) endRenewal(l *load[K, V], dropped bool) {
	failed := l.failure() != nil && !dropped
	if l.renewal {
		s.common.loads.renewals.count(failed, dropped)
	}
	i, ok := s.find(l.hash, l.key)
	if !ok || !renewing(s.lives.due[i].Get()) || s.pending.current(l.hash, l.key) != nil {
		return
	}
	if failed {
		tries := s.lives.due[i].Get() & triesMask
		s.lives.due[i].Set(s.common.time.pauseAfter(min(tries+1, maxTries)))
	} else {
		s.dueNow(i)
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
		s.tally.hitsInGrace.Add(1)
	}
	return s.entries[i].value
}

package cache

import "context"

// join is for a caller that missed. It returns the value if the cache has it by now, or
// waits for a load by another caller or in the background, or returns a load for this
// caller to lead.
func (c *Cache[K, V]) join(ctx context.Context, key K, who *caller, fetch fetcher[K, V]) (value V, mine *load[K, V], err error) {
	if err := context.Cause(ctx); err != nil {
		return value, nil, err
	}
	within := c.permits.within(ctx)
	for {
		value, l, role, err := c.assign(ctx, key, who, nil)
		if within && l != nil {
			l.flight.lendPermit()
		}
		switch role {
		case finder:
			return value, nil, err
		case leader:
			return value, l, nil
		case beginner:
			c.spawn(func() { c.run(l, fetch, false) })
			if who.found {
				return value, nil, nil
			}
			return c.follow(ctx, l, who, fetch)
		case follower:
			c.waiters.Add(1)
			return c.follow(ctx, l, who, fetch)
		}
		switch err := l.waitBehind(ctx, who.patienceEnds(c.patience)); err {
		case nil:
		case errOutOfPatience:
			who.patient = false
		default:
			return value, nil, err
		}
	}
}

// follow waits for a load that others run. A caller whose patience ends joins again.
func (c *Cache[K, V]) follow(ctx context.Context, l *load[K, V], who *caller, fetch fetcher[K, V]) (value V, mine *load[K, V], err error) {
	switch err := l.waitUntil(ctx, who.patienceEnds(c.patience)); err {
	case nil:
		if l.absent {
			return c.join(ctx, l.key, who, fetch)
		}
		return l.value, nil, l.err
	case errOutOfPatience:
		who.patient = false
		return c.join(ctx, l.key, who, fetch)
	default:
		return value, nil, err
	}
}

// A role is what a caller that missed is to do.
type role uint8

const (
	finder    role = iota // return the value or the kept error, which is there by now
	leader                // fetch the value
	beginner              // begin a load in the background, and wait for it if patient
	follower              // wait for the leader's result
	successor             // wait until the load has ended, and join again
)

// assign decides what a caller that missed is to do, and with which load. A load that it
// begins joins the batch of first, if that is not nil. If the load is not to be shared,
// because the cache is closed or the key is not equal to itself, the caller leads a load
// of its own.
func (c *Cache[K, V]) assign(ctx context.Context, key K, who *caller, first *load[K, V]) (value V, l *load[K, V], r role, err error) {
	h := c.hasher.Hash(key)
	s := c.lock(h)
	defer s.lock.Unlock()
	return s.assign(ctx, h, key, who, first)
}

// assign is Cache.assign under the lock of the shard.
func (s *shard[K, V]) assign(ctx context.Context, h uint64, key K, who *caller, first *load[K, V]) (value V, l *load[K, V], r role, err error) {
	if s.closed || !s.common.hasher.Reflexive(key) {
		l = s.common.newLoad(ctx, h, key, first)
		l.unshared = true
		return value, l, leader, nil
	}
	i, found := s.find(h, key)
	expired := found && s.expired(i) // once, as the entry may expire at any moment
	who.inGrace = expired && !s.gone(i)
	l = s.loads[key]
	if found && !expired && s.useAt(i, h) || who.inGrace && s.standsIn(i, l, who) {
		who.found = true
		return s.answer(i), nil, finder, nil
	}
	if l == nil {
		if err := s.keptError(key); err != nil {
			return value, nil, finder, err
		}
		l, r = s.beginLoad(ctx, h, key, i, who, first)
		if who.found {
			value = s.answer(i)
		}
		return value, l, r, nil
	}
	l.makeDone()
	switch {
	case l.stale:
		return value, l, successor, nil
	case l.flight.join(ctx), l.flight.isLate():
		return value, l, follower, nil
	default: // all callers have left
		return value, l, successor, nil
	}
}

// beginLoad begins a load of a key that has none. Entry i is that of the key if who.inGrace.
func (s *shard[K, V]) beginLoad(ctx context.Context, h uint64, key K, i uint32, who *caller, first *load[K, V]) (l *load[K, V], r role) {
	if who.inGrace && who.background {
		l = s.beginRenewal(ctx, h, i, nil)
		switch {
		case l == nil: // no permit is free
			who.found = true
			return nil, finder
		case who.patient:
			l.makeDone()
			l.flight.join(ctx)
		default:
			who.found = true
		}
		return l, beginner
	}
	l = s.common.newLoad(ctx, h, key, first)
	if who.inGrace {
		s.renewBy(l, i)
	}
	s.addLoad(l)
	return l, leader
}

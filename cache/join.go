// This file has what the callers of a load do, from the first look that missed to the value: who
// fetches, who waits, and who looks again.

package cache

import (
	"context"
	"slices"
)

// A role is what a Take is to do about a key. Its first look decides it, and if that finds no
// value to return, assign decides it under the lock of the shard.
type role uint8

const (
	finder    role = iota // return the value or the kept error, which is there
	renewer               // return the value, and begin a load in the background: it is due
	seeker                // look again, by assign; the miss is counted
	undecided             // likewise, but a value in Grace may stand in: neither a hit nor a miss yet
	leader                // fetch the value
	beginner              // begin a load in the background, and wait for it if patient
	follower              // wait for the leader's result
	doubter               // wait for the leader, and look again: a DelFunc may pick the result
	successor             // wait until the load has ended, and look again: all its callers have left
	refused               // return the error: the load is late, or that of the caller itself
)

// takeSlow is Take after its first look. It does not let fetch escape: a function that
// captures the key would be allocated, which is most of the cost of a hit.
func (c *Cache[K, V]) takeSlow(key K, first role, fetch func() (V, error)) (V, error) {
	who := c.common.loads.plainCaller()
	if first == undecided {
		defer c.countUndecided(key, &who)
	}
	value, l, err := c.join(key, &who, nil)
	if l != nil {
		c.run(l, func(_ context.Context, l *load[K, V]) { l.value, l.err = fetch() }, true)
		value, err = l.value, l.err
		c.common.reuse(l)
	}
	return c.orStandIn(key, &who, value, err)
}

// takeSlowCtx is TakeCtx or TakeWith after its first look, which found value.
func (c *Cache[K, V]) takeSlowCtx(ctx context.Context, key K, first role, value V, fetch fetcher[K, V]) (V, error) {
	if first == renewer {
		c.renew(ctx, key, fetch)
		return value, nil
	}
	who := c.common.loads.callerOf(ctx)
	who.background, who.patient = true, c.common.time.patience > 0
	if first == undecided {
		defer c.countUndecided(key, &who)
	}
	value, l, err := c.join(key, &who, fetch)
	if l != nil {
		if err = c.lead(&who, l, fetch); err == nil {
			value, err = l.value, l.err
		}
	}
	return c.orStandIn(key, &who, value, err)
}

// countUndecided counts the hit or miss of a caller that saw a value in Grace, once the caller
// has a result.
func (c *Cache[K, V]) countUndecided(key K, who *caller) {
	s, r := c.common.rlock(c.common.hasher.Hash(key))
	if who.found {
		s.lock.RUnlockHit(r)
		return
	}
	s.tally.missesExpired.Add(1)
	s.lock.RUnlockMiss(r)
}

// orStandIn returns the result of a Take or, if the load has failed, a value that stands in.
func (c *Cache[K, V]) orStandIn(key K, who *caller, value V, err error) (V, error) {
	if err != nil && who.ctx.Err() == nil {
		if value, ok := c.standIn(key); ok {
			who.found = true
			return value, nil
		}
	}
	return value, err
}

// join is for a caller that missed. It returns the value if the cache has it by now, or
// waits for a load by another caller or in the background, or returns a load for this
// caller to lead.
func (c *Cache[K, V]) join(key K, who *caller, fetch fetcher[K, V]) (value V, mine *load[K, V], err error) {
	for {
		if err := context.Cause(who.ctx); err != nil {
			return value, nil, err
		}
		who.now = c.common.time.clock.MustNow()
		found, l, role, err := c.assign(key, who, nil)
		switch role {
		case finder, refused:
			return found, nil, err
		case leader:
			return value, l, nil
		case beginner:
			c.spawnLoad(l, fetch)
			if who.found {
				return found, nil, nil
			}
		case follower, doubter:
			c.waiters.Add(1)
		}
		switch err := l.wait(who, role, who.patienceEnds(c.common.time.patience)); {
		case err == errOutOfPatience:
			who.patient = false
		case err != nil:
			return value, nil, err
		case role != successor && role != doubter && !l.absent:
			return l.value, nil, l.err
		}
	}
}

// assign decides what a caller that missed is to do, and with which load. A load that it
// begins joins the batch of first, if that is not nil. If the load is not to be shared,
// because the cache is closed or the key is not equal to itself, the caller leads a load
// of its own.
func (c *Cache[K, V]) assign(key K, who *caller, first *load[K, V]) (value V, l *load[K, V], r role, err error) {
	h := c.common.hasher.Hash(key)
	s := c.common.lock(h)
	value, l, r, err = s.decide(h, key, who, first)
	s.lock.Unlock()
	if l != nil && len(who.inside) > 0 {
		c.common.loads.permits.lend(l.flight, who.inside)
	}
	return value, l, r, err
}

// decide is the part of assign under the lock of the shard.
func (s *shard[K, V]) decide(h uint64, key K, who *caller, first *load[K, V]) (value V, l *load[K, V], r role, err error) {
	if s.closed || !s.common.hasher.Reflexive(key) {
		l = s.common.newLoad(who, h, key, first)
		l.unshared = true
		return value, l, leader, nil
	}
	i, found := s.find(h, key)
	expired := found && s.checkExpired(i) // once, as the entry may expire at any moment
	who.inGrace = expired && !s.checkGone(i)
	l = s.pending.current(h, key)
	if found && !expired && s.useAt(i, h) || who.inGrace && s.standsIn(i, l, who) {
		who.found = true
		return s.answer(i), nil, finder, nil
	}
	own := l != nil && slices.Contains(who.inside, l.flight) && !l.flight.over.Load()
	beside := l.doubted() && !own && !l.beside
	if l == nil || beside {
		if err := s.keptError(key); err != nil {
			return value, nil, finder, err
		}
		before := l
		if l, r = s.beginLoad(h, key, i, who, first); l != nil && beside {
			before.stale, l.beside = true, true
		}
		if who.found {
			value = s.answer(i)
		}
		return value, l, r, nil
	}
	l.makeDone()
	switch {
	case own:
		return value, nil, refused, errOwnKey
	case l.flight.join():
		if l.doubted() {
			return value, l, doubter, nil
		}
		return value, l, follower, nil
	case l.flight.isLate():
		return value, nil, refused, l.tooLate()
	default: // all callers have left
		return value, l, successor, nil
	}
}

// doubted reports whether a DelFunc that has begun since may pick the value of a load. A caller that
// comes then must not get it, nor wait for a load that may hang. So it begins another one, but none
// beside that: where DelFunc is called often, most loads are doubted.
func (l *load[K, V]) doubted() bool { return l != nil && l.filtered > 0 }

// beginLoad begins a load of a key that has none to share. Entry i is that of the key if
// who.inGrace.
func (s *shard[K, V]) beginLoad(h uint64, key K, i uint32, who *caller, first *load[K, V]) (l *load[K, V], r role) {
	if who.inGrace && who.background {
		l = s.beginRenewal(who.ctx, h, i, nil)
		switch {
		case l == nil: // no permit is free
			who.found = true
			return nil, finder
		case who.patient:
			l.makeDone()
			l.flight.join()
		default:
			who.found = true
		}
		return l, beginner
	}
	l = s.common.newLoad(who, h, key, first)
	if who.inGrace {
		s.renewBy(l, i)
	}
	s.pending.add(l)
	return l, leader
}

// newLoad returns a load that a caller begins. It joins the batch of first, if that is not
// nil.
func (c *common[K, V]) newLoad(who *caller, h uint64, key K, first *load[K, V]) *load[K, V] {
	if first != nil {
		l := new(load[K, V])
		c.initLoad(l, who, h, key)
		l.flight, l.member = first.flight, true
		return l
	}
	l := c.shardOf(h).pending.spare.Swap(nil)
	if l == nil {
		l = newSoleLoad[K, V]()
	}
	c.initLoad(l, who, h, key)
	l.flight.start(who, &c.loads.permits)
	if who.canLeave() {
		l.makeDone() // the leader waits too
	}
	return l
}

func (c *common[K, V]) initLoad(l *load[K, V], who *caller, h uint64, key K) {
	l.common, l.began, l.key, l.hash = c, who.now, key, h
	l.Expire = c.time.expireAfter
}

// reuse keeps the load of a plain Take, which has ended, for the next load of its shard. It
// does not if another goroutine may still use it: a caller that waited for it, or the one in
// which package context watches a flight that waited for a permit.
func (c *common[K, V]) reuse(l *load[K, V]) {
	if l.done != nil || l.how != returned || c.loads.permits.free != nil {
		return
	}
	spare, f := &c.shardOf(l.hash).pending.spare, l.flight
	*f = flight{}
	*l = load[K, V]{flight: f}
	spare.Store(l)
}

// newSoleLoad returns a load with a flight of its own, in one allocation.
func newSoleLoad[K comparable, V any]() *load[K, V] {
	both := new(struct {
		load   load[K, V]
		flight flight
	})
	both.load.flight = &both.flight
	return &both.load
}

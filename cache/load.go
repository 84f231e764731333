// This file has a load from the miss to the stored value, in this order: what its callers do,
// the fetch, and how the result is stored. It uses types with a file each: caller, load
// (loads.go), flight, permits, fetcher and filter.

package cache

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
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
	doubter               // likewise, and look again if it is not stored: DelFunc was called since the load began
	successor             // wait until the load has ended, and look again: all its callers have left
	refused               // return the error: the load is late, or that of the caller itself
)

// takeSlow is Take after its first look. It does not let fetch escape: a function that
// captures the key would be allocated, which is most of the cost of a hit.
func (c *Cache[K, V]) takeSlow(key K, first role, fetch func() (V, error)) (V, error) {
	who := c.common.plainCaller()
	if first == undecided {
		defer c.count(key, &who)
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
	who := c.common.callerOf(ctx)
	who.background, who.patient = true, c.common.patience > 0
	if first == undecided {
		defer c.count(key, &who)
	}
	value, l, err := c.join(key, &who, fetch)
	if l != nil {
		if err = c.lead(&who, l, fetch); err == nil {
			value, err = l.value, l.err
		}
	}
	return c.orStandIn(key, &who, value, err)
}

// count counts the hit or miss of a caller that saw a value in Grace, once it has a result.
func (c *Cache[K, V]) count(key K, who *caller) {
	s, r := c.common.rlock(c.common.hasher.Hash(key))
	if who.found {
		s.lock.RUnlockHit(r)
		return
	}
	s.missesExpired.Add(1)
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
		who.now = c.common.clock.checked()
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
		switch err := l.wait(who, role, who.patienceEnds(c.common.patience)); {
		case err == errOutOfPatience:
			who.patient = false
		case err != nil:
			return value, nil, err
		case role != successor && !l.absent && !l.doubtful(role):
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
	value, l, r, err = s.assign(h, key, who, first)
	s.lock.Unlock()
	if l != nil && len(who.inside) > 0 {
		l.flight.lendPermit()
	}
	return value, l, r, err
}

// assign is Cache.assign under the lock of the shard.
func (s *shard[K, V]) assign(h uint64, key K, who *caller, first *load[K, V]) (value V, l *load[K, V], r role, err error) {
	if s.closed || !s.common.hasher.Reflexive(key) {
		l = s.common.newLoad(who, h, key, first)
		l.unshared = true
		return value, l, leader, nil
	}
	i, found := s.find(h, key)
	expired := found && s.expired(i) // once, as the entry may expire at any moment
	who.inGrace = expired && !s.gone(i)
	l = s.current(key)
	if found && !expired && s.useAt(i, h) || who.inGrace && s.standsIn(i, l, who) {
		who.found = true
		return s.answer(i), nil, finder, nil
	}
	if l == nil {
		if err := s.keptError(key); err != nil {
			return value, nil, finder, err
		}
		l, r = s.beginLoad(h, key, i, who, first)
		if who.found {
			value = s.answer(i)
		}
		return value, l, r, nil
	}
	l.makeDone()
	switch {
	case slices.Contains(who.inside, l.flight) && !l.flight.over.Load():
		return value, nil, refused, errOwnKey
	case l.flight.join(who):
		if l.filtered > 0 {
			return value, l, doubter, nil
		}
		return value, l, follower, nil
	case l.flight.isLate():
		return value, nil, refused, ErrTimeout
	default: // all callers have left
		return value, l, successor, nil
	}
}

// doubtful reports whether a caller with a role must not have the value of l, which has ended:
// a DelFunc that had returned before the caller came may have picked it.
func (l *load[K, V]) doubtful(r role) bool { return r == doubter && l.stale && l.err == nil }

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
			l.flight.join(who)
		default:
			who.found = true
		}
		return l, beginner
	}
	l = s.common.newLoad(who, h, key, first)
	if who.inGrace {
		s.renewBy(l, i)
	}
	s.addLoad(l)
	return l, leader
}

// lead runs the fetch of a load: in the caller's goroutine if the caller cannot leave, else
// in another one. It returns why the caller has left, or nil if the load has ended.
func (c *Cache[K, V]) lead(who *caller, l *load[K, V], fetch fetcher[K, V]) error {
	if !who.canLeave() {
		c.run(l, fetch.fetch, true)
		return nil
	}
	c.spawnLoad(l, fetch)
	if err := l.wait(who, leader, nil); err != nil {
		return err
	}
	switch l.how {
	case panicked:
		panic(l.err.(*PanicError).Value)
	case exited:
		runtime.Goexit()
	}
	return nil
}

// spawnLoad runs a load in another goroutine.
func (c *Cache[K, V]) spawnLoad(l *load[K, V], fetch fetcher[K, V]) {
	c.spawn(func() { c.run(l, fetch.fetch, false) })
}

// spawn starts the goroutine of a load. If the leader is a callback, which must not wait
// for callbacks, the load that it waits for must not wait for them either.
func (c *Cache[K, V]) spawn(run func()) {
	if c.common.runner != nil && runner.InCallback() {
		runner.Go(run)
	} else {
		go run()
	}
}

// run calls fetch and ends the load, however fetch ends. If repanic is set, run panics when
// fetch does.
func (c *Cache[K, V]) run(l *load[K, V], fetch func(context.Context, *load[K, V]), repanic bool) {
	release, err := c.common.permits.take(l.flight)
	if err != nil {
		l.fail(err)
		l.how = returned
		c.end(l)
		return
	}
	defer func() {
		if l.how != returned {
			err := ErrGoexit
			if p := recover(); p != nil {
				l.how, err = panicked, &PanicError{p, debug.Stack()}
			}
			l.fail(err)
		}
		c.observeLoad(time.Duration(c.common.clock.now()-l.began), l)
		c.end(l)
		switch {
		case l.how == returned:
		case l.flight.kept:
			c.tellFailure(l.err)
		case l.how == panicked && repanic:
			panic(l.err.(*PanicError).Value)
		}
	}()
	runner.Load(func() {
		l.call(fetch, release)
		c.returned(l)
		for _, mate := range l.mates() {
			c.returned(mate)
		}
	})
	l.how = returned
}

// call calls fetch and then gives back its permit, however fetch ends. What follows may wait
// for a load that needs the permit: Weigh, Negative and the functions of DelFunc may call
// one of the Takes, and so may OnRemove, for which the end of the load waits.
func (l *load[K, V]) call(fetch func(context.Context, *load[K, V]), release func()) {
	defer release()
	defer l.flight.over.Store(true)
	fetch(l.flight, l)
}

// fail makes err, which says nothing about a single key, the result of l and of all other
// loads of its batch.
func (l *load[K, V]) fail(err error) {
	var none V
	l.value, l.err, l.keepErr, l.absent = none, err, 0, false
	for _, mate := range l.mates() {
		mate.fail(err)
	}
}

// returned does what is left to do when a fetch has returned, for one load of its batch.
func (c *Cache[K, V]) returned(l *load[K, V]) {
	switch {
	case l.err == nil && l.Expire >= 0 && !l.Unchanged:
		l.weight = c.common.weightOf(l.key, l.value)
	case l.err != nil && l.batch == nil && !l.mate: // the error of a batch says nothing about a single key
		l.keepErr = c.common.keepFor(l.err)
	}
}

// end ends a load and those of its batch, and hands their results to the callers.
func (c *Cache[K, V]) end(l *load[K, V]) {
	reported := false
	for _, mate := range l.mates() {
		reported = c.conclude(mate) || reported
		mate.publish()
	}
	reported = c.conclude(l) || reported
	l.publish()
	l.flight.finish()
	c.common.settle(reported) // after that: a callback may wait for this load, or one of the batch
}

// conclude stores the result of a load, unless the load failed or the key was changed
// meanwhile. If it returns reported, settle must follow.
func (c *Cache[K, V]) conclude(l *load[K, V]) (reported bool) {
	if l.unshared {
		return false
	}
	u := update[K, V]{hash: l.hash, key: l.key, value: l.value, weight: l.weight, life: c.common.lifeOf(l.hash, max(l.Expire, 0))}
	for done := false; !done; {
		s := c.common.lock(l.hash)
		if filters := l.filters; len(filters) > 0 && l.err == nil && !l.stale && !l.absent {
			l.filters = nil
			s.lock.Unlock()
			c.abandon(&u)
			c.filterLoad(l, filters)
			continue
		}
		done = c.endStore(s, &u, s.endLoad(l, &u))
	}
	return u.reported
}

// endLoad is the part of conclude under the lock. If there is too little room in the shard,
// it returns how much is missing, and the load goes on.
func (s *shard[K, V]) endLoad(l *load[K, V], u *update[K, V]) (missing uint64) {
	s.removeLoad(l)
	dropped := l.stale || l.evicted && !l.flight.awaited()
	switch {
	case dropped:
	case l.err != nil:
		s.keepError(l)
	default:
		missing = s.keep(l, u)
	}
	if missing > 0 {
		s.addLoad(l) // it was the newest, and no other could begin under this lock
	} else if s.due != nil {
		s.endRenewal(l, dropped)
	}
	return missing
}

// keep stores the result of a load, as its fields Expire and Unchanged say. If there is too
// little room in the shard, it returns how much is missing.
func (s *shard[K, V]) keep(l *load[K, V], u *update[K, V]) (missing uint64) {
	switch {
	case l.Expire < 0:
		s.del(l.hash, l.key)
		return 0
	case l.Unchanged:
		s.prolong(u)
		return 0
	}
	return s.put(u)
}

// prolong gives the present value of the key of u another life, unless it has gone.
func (s *shard[K, V]) prolong(u *update[K, V]) {
	i, ok := s.findUsable(u.hash, u.key)
	if !ok {
		return
	}
	s.setLife(i, u.life)
	s.use(i)
	if w := s.common.watch.Load(); w != nil {
		s.common.touched(w, u.hash, u.life.cap)
	}
}

// newLoad returns a load that a caller begins. It joins the batch of first, if that is not
// nil.
func (c *common[K, V]) newLoad(who *caller, h uint64, key K, first *load[K, V]) *load[K, V] {
	if first != nil {
		l := new(load[K, V])
		c.initLoad(l, who, h, key)
		l.flight, l.mate = first.flight, true
		return l
	}
	l := c.shardOf(h).spare.Swap(nil)
	if l == nil {
		l = newSoleLoad[K, V]()
	}
	c.initLoad(l, who, h, key)
	l.flight.begin(who, &c.permits)
	if who.canLeave() {
		l.makeDone() // the leader waits too
	}
	return l
}

func (c *common[K, V]) initLoad(l *load[K, V], who *caller, h uint64, key K) {
	l.common, l.began, l.key, l.hash = c, who.now, key, h
	l.Expire = c.expireAfter
}

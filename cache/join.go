// This file has what a Take does unless its first look saw a value that is not due: it fetches, renews,
// waits for the load of another caller, or looks again. After take.go; a fetch is in run.go.

package cache

import (
	"context"
	"slices"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// A duty is what a caller that missed is to do about a key. The second look decides it, under the lock
// of the shard:
//
//	what the shard has of the key                duty
//	-------------------------------------------  -------------------------------------------
//	nothing: it is closed, or the key is not     lead, and share the load with nobody
//	  equal to itself
//	a value; or one in Grace that stands in      useFound
//	a load that began around this call           refuse: it would wait for itself
//	a load to join                               follow
//	  that began before what the caller may get  lead another one beside it, if it is the only
//	                                               one, and otherwise waitForEnd
//	  that DelFunc may take the value of         lead another one beside it, if it is the only
//	                                               one, and otherwise followUnlessDeleted
//	a load that is late                          refuse
//	a load that all callers have left            waitForEnd
//	no load, but a kept error                    useFound
//	no load, a value in Grace, and a caller      leadBehind; useFound if no permit is free
//	  whose load may go on without it
//	no load                                      lead
//
// After follow and leadBehind the caller has a result. After followUnlessDeleted and waitForEnd it
// looks again.
type duty uint8

const (
	useFound            duty = iota // return the value, or the kept error
	refuse                          // return the error
	lead                            // fetch the value
	leadBehind                      // begin a load in the background, and wait for it if patient
	follow                          // wait for the result of a load
	followUnlessDeleted             // wait for it, and look again: a DelFunc may take it
	waitForEnd                      // wait until a load has ended, and look again
)

// An assignment is a duty, and what the caller needs for it.
type assignment[K comparable, V any] struct {
	duty    duty
	value   V    // the value that the caller gets at once, if found
	found   bool // the cache had a value
	inGrace bool // there is a value in Grace, which may stand in later
	load    *load[K, V]
	err     error
}

// takeSlow is Take after its first look. It does not let fetch escape: otherwise a function that
// captures the key would be allocated at each Take, which would be most of the cost of a hit.
func (c *Cache[K, V]) takeSlow(key K, seen sight, fetch func() (V, error)) (V, error) {
	var who caller // no literal, which would be made beside it and copied
	who.Caller, who.patient = c.common.loads.rules.PlainCaller(), true
	if seen == missInGrace {
		defer c.countUndecided(key, &who)
	}
	value, l, err := c.join(key, &who, nil, nil)
	if l != nil {
		c.run(l, func(_ context.Context, l *load[K, V]) { l.value, l.err = fetch() }, true)
		value, err = l.value, l.err
		who.refused, who.ended = l.counted() != nil, l.ended
		c.common.reuse(l)
	}
	return c.orStandIn(key, &who, value, err)
}

// takeSlowCtx is TakeCtx, TakeWith or Fetch after its first look, which found value. g is not nil if the
// load may join a batch.
func (c *Cache[K, V]) takeSlowCtx(ctx context.Context, key K, seen sight, value V, fetch fetcher[K, V], g *gatherer[K, V]) (V, error) {
	if seen == hitDue {
		c.renew(ctx, key, fetch)
		return value, nil
	}
	who := c.common.loads.callerOf(ctx)
	who.background, who.patient = true, c.common.time.patience.get() > 0
	return c.takeAs(key, seen, &who, fetch, g)
}

// takeAs is takeSlowCtx for a caller that has seen no value to return at once.
func (c *Cache[K, V]) takeAs(key K, seen sight, who *caller, fetch fetcher[K, V], g *gatherer[K, V]) (V, error) {
	if seen == missInGrace {
		defer c.countUndecided(key, who)
	}
	value, l, err := c.join(key, who, fetch, g)
	if l != nil {
		if err = c.lead(who, l, fetch); err == nil {
			l.tell(who)
			value, err = l.value, l.err
			who.refused, who.ended = l.counted() != nil, l.ended
		}
	}
	return c.orStandIn(key, who, value, err)
}

// renew begins a renewal of a value that the caller has found due. It skips the renewal if that would
// have to wait for a permit, and leaves it to the next caller if ctx has ended.
func (c *Cache[K, V]) renew(ctx context.Context, key K, fetch fetcher[K, V]) {
	ended := ctx.Err() != nil
	var at look[K, V]
	at.seek(&c.common, key)
	l := at.beginDue(ctx, ended, nil)
	at.lock.Unlock()
	if l == nil {
		return
	}
	c.spawnLoad(l, fetch)
}

// countUndecided counts the hit or miss of a caller that saw a value in Grace, once the caller
// has a result.
func (c *Cache[K, V]) countUndecided(key K, who *caller) {
	s, r := c.common.rlock(c.common.hasher.Hash(key))
	if who.found {
		s.lock.RUnlockHit(r)
		return
	}
	s.tally.missExpired()
	s.lock.RUnlockMiss(r)
}

// orStandIn returns the result of a Take or, if the load has failed, a value that stands in, and counts the
// caller.
func (c *Cache[K, V]) orStandIn(key K, who *caller, value V, err error) (V, error) {
	if who.came > 0 && who.ended == 0 {
		who.ended = c.common.time.clock.Now()
	}
	if err != nil && who.Ctx.Err() == nil && !(who.on != nil && who.on.answered) {
		if value, ok := c.standIn(key, who); ok {
			who.found = true
			c.common.loads.served(who, nil)
			return value, nil
		}
	}
	c.common.loads.served(who, err)
	return value, err
}

// join is for a caller that missed. It returns the value if the cache has it by now, or
// waits for a load by another caller or in the background, or returns a load for this
// caller to lead.
func (c *Cache[K, V]) join(key K, who *caller, fetch fetcher[K, V], g *gatherer[K, V]) (value V, mine *load[K, V], err error) {
	who.waits = g != nil
	for {
		who.refused = false
		if err := context.Cause(who.Ctx); err != nil {
			return value, nil, err
		}
		who.now = c.common.time.clock.MustNow()
		var a assignment[K, V]
		if g != nil {
			g.assign(c, &a, key, who)
		} else {
			c.assign(&a, key, who, nil)
		}
		who.found, who.inGrace = a.found, a.inGrace
		if a.duty == useFound || a.duty == refuse {
			who.refused = a.duty == refuse || isPause(a.err)
			return a.value, nil, a.err
		}
		if who.came == 0 {
			who.came = who.now
		}
		switch a.duty {
		case lead:
			return value, a.load, nil
		case leadBehind:
			c.spawnLoad(a.load, fetch)
			if a.found {
				who.came = 0 // it need not wait
				return a.value, nil, nil
			}
		case follow, followUnlessDeleted:
			c.common.loads.waiters.Add(1)
		}
		l := a.load
		switch err := l.follow(who, a.duty != waitForEnd, who.patienceEnds(c.common.time.patience.get())); {
		case err == errOutOfPatience:
			who.patient = false
		case err != nil:
			return value, nil, err
		case a.duty != waitForEnd && a.duty != followUnlessDeleted && !l.absent:
			l.tell(who)
			return l.value, nil, l.err
		}
	}
}

// assign decides what a caller that missed is to do, and sets a, which is zero. A load that it begins joins
// the batch of first, if that is not nil.
func (c *Cache[K, V]) assign(a *assignment[K, V], key K, who *caller, first *load[K, V]) {
	var at look[K, V]
	at.seek(&c.common, key)
	at.assign(a, who, first)
	at.lock.Unlock()
	if a.load != nil && len(who.Inside) > 0 {
		c.common.loads.rules.Lend(a.load.flight, who.Inside)
	}
}

// assign is the part of Cache.assign under the lock of the shard.
func (at *look[K, V]) assign(a *assignment[K, V], who *caller, first *load[K, V]) {
	if at.closed || !at.common.hasher.Reflexive(at.key) {
		a.duty, a.load = lead, at.newLoad(who, first)
		a.load.unshared = true
		return
	}
	s, i := at.shard, at.slot
	expired := at.has && s.checkExpired(i) // once, as the entry may expire at any moment
	accepts := at.has && who.accepts(s.tally.bornOf(i))
	a.inGrace = expired && accepts && !s.checkGone(i) && !who.refusesOld()
	l := s.pending.current(at.hash, at.key)
	if accepts && !expired && s.useAt(i, at.hash) || a.inGrace && at.standsIn(l, who) {
		a.value, a.found = at.answer(who), true
		if a.inGrace {
			l.keepFor(who)
		}
		return
	}
	own := l != nil && slices.Contains(who.Inside, l.flight) && !l.flight.Over()
	old := l != nil && l.began <= who.since
	if l != nil && (own || l.beside || !l.doubted() && !old) {
		a.join(l, who, own, old)
		return
	}
	if a.err = at.common.keptError(at.key, who.since); a.err != nil {
		return
	}
	if l != nil && who.storesNothing() { // its load must not keep the result of l from being stored
		a.duty, a.load = lead, at.newLoad(who, first)
		a.load.unshared = true
		return
	}
	at.beginFor(a, who, first)
	if l != nil && a.load != nil {
		l.stale, a.load.beside = true, true
	}
}

// join makes the caller wait for l, which is its own if the call is made in the fetch of l, and old if
// it began before what the caller may get.
func (a *assignment[K, V]) join(l *load[K, V], who *caller, own, old bool) {
	l.makeDone()
	switch {
	case own:
		a.duty, a.err = refuse, errOwnKey
		return
	case old:
		a.duty = waitForEnd
	case l.flight.Join():
		a.duty = follow
		l.keepFor(who)
		if l.doubted() {
			a.duty = followUnlessDeleted
		}
	case l.flight.IsLate():
		a.duty, a.err = refuse, l.tooLate()
		return
	default:
		a.duty = waitForEnd
	}
	a.load = l
}

// doubted reports whether a DelFunc that began after the load may select its value. A caller that
// comes then must not get the value, nor wait for a load that may hang, so it begins another load
// beside it. But there is never a third: where DelFunc is called often, most loads are doubted.
func (l *load[K, V]) doubted() bool { return l.filtered > 0 }

// beginFor begins a load of the key, which has none to share, for a caller that is to lead it.
func (at *look[K, V]) beginFor(a *assignment[K, V], who *caller, first *load[K, V]) {
	if !a.inGrace || !who.background {
		a.duty, a.load = lead, at.newLoad(who, first)
		a.load.unkept = who.storesNothing()
		if at.has && !at.checkGone(at.slot) {
			at.renew(a.load)
		}
		at.pending.add(a.load)
		return
	}
	if a.load = at.beginRenewal(who.Ctx, nil); a.load != nil {
		a.duty = leadBehind
	} // else no permit is free: useFound
	if a.load != nil && who.patient {
		a.load.makeDone()
		a.load.flight.Join()
		return
	}
	a.value, a.found = at.answer(who), true
}

// keepFor makes the result of l be stored, if the caller asks for that. l may be nil.
func (l *load[K, V]) keepFor(who *caller) {
	if l != nil && !who.storesNothing() {
		l.keep()
	}
}

// tell tells the caller how fresh the value is that the load has brought.
func (l *load[K, V]) tell(who *caller) {
	if who.on == nil {
		return
	}
	who.on.answered = l.unkept && (l.Gone || l.keepErr > 0 && !l.pause)
	f := freshness{l.deadline, l.due, clock.MomentOf(l.began)}
	if f.deadline == 0 {
		f.due = clock.Never
	}
	who.tell(f)
}

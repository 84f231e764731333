// This file has TakeMany, and what all methods have in common that load several keys.

package cache

import "context"

// TakeMany is [Cache.TakeCtx] for several keys at once, which one call of fetch loads. It
// returns the values of the keys that have one. Each key counts as one hit or one miss,
// however often it is in keys.
//
// fetch gets the keys that the cache does not have and that no other caller is loading, in
// the order of keys, and is not called if there are none. It returns their values; a key
// that it leaves out has none: an old value leaves, and Negative is asked about [ErrNotFound].
// Values of keys that it did not get are ignored, as storing them could undo a change.
// TakeMany waits for the loads of others after fetch has returned, so two calls never wait for
// each other.
//
// For other callers each key has a load of its own, which they may join; a Take of one key
// that fetch leaves out calls its own fetch, unless Negative keeps that. A change of one key,
// as by Del, keeps only that value from being stored. The context of fetch ends when no caller
// waits for any of its keys. It takes one permit of MaxLoads, and is one load in the statistics.
//
// TakeMany returns the first error, of fetch or of a load that it waited for, with the
// values of all other keys. If fetch returns an error, that is the result for all its
// keys, and its values are ignored. Negative does not get this error, which says nothing
// about single keys. A key with a kept error, also one that another load has just found, is
// left out without an error.
//
// Values that are due for Refresh are returned, and so are those in Grace if there is no
// Patience: another call of fetch renews them in the background, with one permit, or is
// skipped if none is free. With Patience, TakeMany waits for fetch to renew values in Grace
// however long that takes, as Take does. If a load fails, a value in Grace stands in
// without an error.
//
// A key that is not equal to itself, such as NaN, is never found and never fetched.
func (c *Cache[K, V]) TakeMany(ctx context.Context, keys []K, fetch func(ctx context.Context, missing []K) (map[K]V, error)) (map[K]V, error) {
	checkTake(ctx, fetch == nil, "TakeMany")
	m := many[K, V]{cache: c, ctx: ctx, fetch: fetchMissing[K, V](fetch), found: make(map[K]V, len(keys))}
	m.take(keys)
	return m.found, m.err
}

// many is a call of TakeMany, FetchMany or Refresh.
type many[K comparable, V any] struct {
	cache   *Cache[K, V]
	ctx     context.Context
	who     caller // what all keys have in common; set if some are to be loaded
	fetch   fetcher[K, V]
	apart   bool          // fetch loads one key at a time
	since   int64         // of a Refresh: when it was called; else 0
	found   map[K]V       // nil for a Refresh
	err     error         // the first of all
	refused bool          // one of them says more than that there is no value
	errs    map[K]error   // by key, of For(c).TakeMany; else nil
	due     []K           // found, and to be renewed
	inGrace map[K]*caller // seen in Grace, and not counted yet
}

// take finds or loads keys.
func (m *many[K, V]) take(keys []K) {
	missing := m.search(keys)
	defer m.countUndecided()
	m.renewDue()
	m.loadAll(missing)
	if len(missing) > 0 {
		m.who.ended, m.who.refused = m.cache.common.time.clock.Now(), m.refused
		m.cache.common.loads.served(&m.who, m.err)
	}
}

// checkKeys panics if a key cannot be hashed. It comes first: a panic later would leave loads that
// nobody runs, or values that are due and that nobody renews.
func (c *Cache[K, V]) checkKeys(keys []K) {
	for _, key := range keys {
		c.common.hasher.Check(key)
	}
}

// search looks for the keys and returns those that the cache does not have, each once.
func (m *many[K, V]) search(keys []K) (missing []K) {
	m.cache.checkKeys(keys)
	var asked map[K]struct{} // the keys of missing
	for _, key := range keys {
		if _, ok := m.found[key]; ok {
			continue
		}
		if _, ok := asked[key]; ok {
			continue
		}
		if value, ok := m.get(key); ok {
			m.found[key] = value
		} else if m.cache.common.hasher.Reflexive(key) {
			if asked == nil {
				asked = make(map[K]struct{}, len(keys))
			}
			asked[key] = struct{}{}
			missing = append(missing, key)
		}
	}
	return missing
}

// get returns a value that may be returned at once.
func (m *many[K, V]) get(key K) (value V, ok bool) {
	value, seen := m.cache.see(key, true)
	switch seen {
	case hitDue:
		m.due = append(m.due, key)
	case missInGrace:
		if m.inGrace == nil {
			m.inGrace = make(map[K]*caller)
		}
		m.inGrace[key] = new(caller)
	}
	return value, seen == hit || seen == hitDue
}

// countUndecided counts the keys that were seen in Grace, when they have a result.
func (m *many[K, V]) countUndecided() {
	for key, who := range m.inGrace {
		m.cache.countUndecided(key, who)
	}
}

// renewDue begins a renewal of the values that are due, in a batch of its own.
func (m *many[K, V]) renewDue() {
	c := m.cache
	if len(m.due) == 0 {
		return
	}
	var own []*load[K, V]
	ended := m.ctx.Err() != nil
	for _, key := range m.due {
		var at look[K, V]
		at.seek(&c.common, key)
		if l := at.beginDue(m.ctx, ended, m.first(own)); l != nil {
			own = append(own, l)
		}
		at.lock.Unlock()
	}
	for _, l := range m.flights(own) {
		c.spawnLoad(l, m.fetch)
	}
}

// first returns the load whose batch the next one joins, or nil if that is a load by itself.
func (m *many[K, V]) first(own []*load[K, V]) *load[K, V] {
	if m.apart || len(own) == 0 {
		return nil
	}
	return own[0]
}

// flights returns the loads to be run: each by itself, or the first, with the others as its batch.
func (m *many[K, V]) flights(own []*load[K, V]) []*load[K, V] {
	if m.apart || len(own) == 0 {
		return own
	}
	own[0].batch = own
	return own[:1]
}

// loadAll loads keys that the search has not found.
func (m *many[K, V]) loadAll(keys []K) {
	if len(keys) > 0 {
		m.who = m.cache.common.loads.callerOf(m.ctx)
		m.who.patient, m.who.since, m.who.anew, m.who.waits = true, m.since, m.since > 0, m.apart
	}
	for len(keys) > 0 {
		keys = m.load(keys)
	}
}

// load finds or loads keys and returns those that it must try again. It ends its own loads
// before it waits for those of others, who may wait for its own.
func (m *many[K, V]) load(keys []K) (again []K) {
	if err := context.Cause(m.ctx); err != nil {
		for _, key := range keys {
			m.fail(key, err, false)
		}
		return nil
	}
	m.who.now = m.cache.common.time.clock.MustNow()
	own, others := m.assignAll(keys)
	if m.who.came == 0 && len(own)+len(others) > 0 {
		m.who.came = m.who.now
	}
	waited := 0
	defer func() { // if fetch panics or calls Goexit
		for _, j := range others[waited:] {
			if j.as != waitForEnd {
				j.l.flight.Leave(context.Canceled, errFetchEnded)
			}
		}
	}()
	m.lead(own)
	for _, j := range others {
		waited++
		switch err := j.l.follow(&m.who, j.as != waitForEnd, nil); {
		case j.as == follow:
			m.accept(j.l, err)
		case err != nil:
			m.fail(j.l.key, err, m.who.refused)
		default:
			again = append(again, j.l.key)
		}
	}
	return again
}

// accept takes the result of a load. err is that of the wait for it.
func (m *many[K, V]) accept(l *load[K, V], err error) {
	if err != nil {
		m.fail(l.key, err, m.who.refused)
		return
	}
	switch {
	case l.err == ErrNotFound && (m.errs == nil || l.Gone): // not one that a function of near has passed on
	case l.err == nil && m.found != nil:
		m.found[l.key] = l.value
	case l.failure() != nil && (m.errs != nil || !l.Gone):
		m.fail(l.key, l.err, l.counted() != nil)
	}
}

// fail lets a value in Grace stand in, if there is one, and else keeps the error, which counts if refused.
func (m *many[K, V]) fail(key K, err error, refused bool) {
	if m.ctx.Err() == nil {
		if value, ok := m.cache.standIn(key, &m.who); ok {
			m.has(key, value)
			return
		}
	}
	m.refused = m.refused || refused
	if m.err == nil {
		m.err = err
	}
	if m.errs != nil {
		m.errs[key] = err
	}
}

// has adds a value that the cache has now.
func (m *many[K, V]) has(key K, value V) {
	m.found[key] = value
	if who := m.inGrace[key]; who != nil {
		who.found = true
	}
}

// assignAll decides what to do about keys: own are loads that this call fetches, with one
// flight; others are loads of others, whose results it takes, or which must end before it can
// try again.
func (m *many[K, V]) assignAll(keys []K) (own []*load[K, V], others []awaited[K, V]) {
	c := m.cache
	for _, key := range keys {
		who := m.who
		var a assignment[K, V]
		c.assign(&a, key, &who, m.first(own))
		switch a.duty {
		case useFound:
			if a.err == nil {
				m.has(key, a.value)
			} else if isPause(a.err) {
				m.fail(key, a.err, true)
			}
		case refuse:
			m.fail(key, a.err, true)
		case lead:
			own = append(own, a.load)
		case follow, followUnlessDeleted:
			c.common.loads.waiters.Add(1)
			others = append(others, awaited[K, V]{a.load, a.duty})
		case waitForEnd:
			others = append(others, awaited[K, V]{a.load, a.duty})
		}
	}
	return own, others
}

// An awaited is a load of another caller, and the duty by which this one waits for it.
type awaited[K comparable, V any] struct {
	l  *load[K, V]
	as duty
}

// lead fetches the call's own loads.
func (m *many[K, V]) lead(own []*load[K, V]) {
	switch {
	case len(own) == 0:
		return
	case m.apart:
		m.leadApart(own)
		return
	}
	first := m.flights(own)[0]
	err := m.cache.lead(&m.who, first, m.fetch)
	for _, l := range own {
		m.accept(l, err) // also if the caller has left, and the fetch goes on
	}
}

// leadApart runs all loads at once, each in a goroutine of its own, and waits for them.
func (m *many[K, V]) leadApart(own []*load[K, V]) {
	for _, l := range own {
		m.cache.spawnLoad(l, m.fetch)
	}
	var landed []*load[K, V]
	for _, l := range own {
		err := l.wait(&m.who, true, nil)
		m.accept(l, err)
		if err == nil {
			landed = append(landed, l)
		}
	}
	for _, l := range landed {
		l.rethrow()
	}
}

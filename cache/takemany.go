// This file has TakeMany and TakeManyWith, which load several keys by one call of fetch.

package cache

import "context"

// TakeMany is [Cache.TakeCtx] for several keys at once, which one call of fetch loads. It
// returns the values of the keys that have one. Each key counts as one hit or one miss,
// however often it is in keys.
//
// fetch gets the keys that the cache does not have and that no other caller is loading, in
// the order of keys, and is not called if there are none. It returns their values; a key
// that it leaves out has none. Values of keys that it did not get are ignored, as storing
// them could undo a change. TakeMany waits for the loads of others after fetch has
// returned, so two calls never wait for each other.
//
// For other callers each key has a load of its own, which they may join; a Take of a key
// that fetch leaves out calls its own fetch. A change of one key, as by Del, keeps only
// that value from being stored. The context of fetch ends when no caller waits for any of
// its keys. It takes one permit of MaxLoads, and is one load in the statistics.
//
// TakeMany returns the first error, of fetch or of a load that it waited for, with the
// values of all other keys. If fetch returns an error, that is the result for all its
// keys, and its values are ignored. It is not kept, as it says nothing about single keys.
// A key with a kept error, also one that another load has just found, is left out without
// an error. If another Take finds that a key has no value, and that is not kept, TakeMany
// asks its own fetch.
//
// Values that are due for Refresh are returned, and so are those in Grace if there is no
// Patience: another call of fetch renews them in the background, with one permit, or is
// skipped if none is free. With Patience, TakeMany waits for fetch to renew values in Grace
// however long that takes, as Take does. If a load fails, a value in Grace stands in
// without an error.
//
// A key that is not equal to itself, such as NaN, is never found and never fetched.
func (c *Cache[K, V]) TakeMany(ctx context.Context, keys []K, fetch func(ctx context.Context, missing []K) (map[K]V, error)) (map[K]V, error) {
	if fetch == nil {
		panic("cache: fetch of TakeMany is nil: want a function")
	}
	checkContext(ctx, "TakeMany")
	return c.takeMany(ctx, keys, fetchMissing[K, V](fetch))
}

// TakeManyWith is [Cache.TakeMany] for a fetch that knows more than the values, as that of
// [Cache.TakeWith] does. For each key that it is to load it gets a [Load], where it says what
// holds for this key alone: the TTL of its value, that Old is still right, that the value is
// not to be stored, or an error, and for how long that is kept.
//
// The error of a key goes to all who wait for the key, and to nobody else; its value is
// ignored. TakeManyWith returns the first error of a key, if fetch returns none, but leaves a
// key out whose error is kept or means NotFound. A key with neither a value, an error nor
// Unchanged is left out, as in TakeMany: for other callers that says nothing.
func (c *Cache[K, V]) TakeManyWith(ctx context.Context, keys []K, fetch func(ctx context.Context, loads map[K]*Load[V]) (map[K]V, error)) (map[K]V, error) {
	if fetch == nil {
		panic("cache: fetch of TakeManyWith is nil: want a function")
	}
	checkContext(ctx, "TakeManyWith")
	return c.takeMany(ctx, keys, fetchLoads[K, V](fetch))
}

// takeMany is TakeMany, or TakeManyWith.
func (c *Cache[K, V]) takeMany(ctx context.Context, keys []K, fetch fetcher[K, V]) (map[K]V, error) {
	m := c.many(ctx, len(keys))
	m.fetch = fetch
	m.takeAll(keys)
	return m.found, m.err
}

// A many is a call for several keys.
type many[K comparable, V any] struct {
	cache   *Cache[K, V]
	ctx     context.Context
	who     caller // what all keys have in common; set if some are to be loaded
	reload  bool   // load them whatever is stored
	fetch   fetcher[K, V]
	alone   bool // fetch takes one key, and not a batch
	found   map[K]V
	err     error         // the first of all
	due     []K           // found, and to be renewed
	inGrace map[K]*caller // seen in Grace, and not counted yet
}

// many returns a call for n keys, which lacks its fetch.
func (c *Cache[K, V]) many(ctx context.Context, n int) many[K, V] {
	return many[K, V]{cache: c, ctx: ctx, found: make(map[K]V, n)}
}

// takeAll finds or loads keys.
func (m *many[K, V]) takeAll(keys []K) {
	missing := m.look(keys)
	defer m.count()
	m.renew()
	m.loadAll(missing)
}

// loadAll loads keys, each of which is there once.
func (m *many[K, V]) loadAll(keys []K) {
	if len(keys) > 0 {
		m.who = m.cache.shared.callerOf(m.ctx)
		m.who.patient, m.who.reload = true, m.reload
		m.who.ends = m.who.ends || m.alone // it waits for loads in other goroutines
	}
	for len(keys) > 0 {
		keys = m.load(keys)
	}
}

// look looks the keys up and returns those that the cache does not have, each once.
func (m *many[K, V]) look(keys []K) (missing []K) {
	m.check(keys) // before any is found due: who finds that must renew it

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
		} else if m.cache.shared.hasher.Reflexive(key) {
			if asked == nil {
				asked = make(map[K]struct{}, len(keys))
			}
			asked[key] = struct{}{}
			missing = append(missing, key)
		}
	}
	return missing
}

// check panics if a key has no hash. What one call has begun for others would never end.
func (m *many[K, V]) check(keys []K) {
	for _, key := range keys {
		m.cache.shared.hasher.Check(key)
	}
}

// distinct returns keys, each once, without those that are not equal to themselves.
func (m *many[K, V]) distinct(keys []K) []K {
	m.check(keys)
	seen := make(map[K]struct{}, len(keys))
	once := make([]K, 0, len(keys))
	for _, key := range keys {
		if _, ok := seen[key]; !ok && m.cache.shared.hasher.Reflexive(key) {
			seen[key] = struct{}{}
			once = append(once, key)
		}
	}
	return once
}

// get returns a value that may be returned at once.
func (m *many[K, V]) get(key K) (value V, ok bool) {
	value, first := m.cache.shared.see(key, true)
	switch first {
	case renewer:
		m.due = append(m.due, key)
	case undecided:
		if m.inGrace == nil {
			m.inGrace = make(map[K]*caller)
		}
		m.inGrace[key] = new(caller)
	}
	return value, first == finder || first == renewer
}

// count counts the keys that were seen in Grace, when they have a result.
func (m *many[K, V]) count() {
	for key, who := range m.inGrace {
		m.cache.shared.count(key, who)
	}
}

// renew begins a renewal of the values that are due, in a batch of its own.
func (m *many[K, V]) renew() {
	c := m.cache
	if len(m.due) == 0 {
		return
	}
	var own []*load[K, V]
	var first *load[K, V]
	for _, key := range m.due {
		h := c.shared.hasher.Hash(key)
		s := c.shared.lock(h)
		if l := s.beginDue(m.ctx, h, key, first); l != nil {
			own = append(own, l)
			first = m.batchOf(own)
		}
		s.lock.Unlock()
	}
	m.spawn(own)
}

// batchOf returns the load whose batch the next one is to join, or nil if each is fetched
// alone.
func (m *many[K, V]) batchOf(own []*load[K, V]) (first *load[K, V]) {
	if !m.alone {
		first = own[0]
	}
	return first
}

// spawn begins to fetch loads, which are a batch or are fetched each alone.
func (m *many[K, V]) spawn(own []*load[K, V]) {
	if len(own) > 0 && !m.alone {
		own[0].batch = own
		own = own[:1]
	}
	for _, l := range own {
		m.cache.shared.spawnLoad(l, m.fetch)
	}
}

// load finds or loads keys and returns those that it must try again. It ends its own loads
// before it waits for those of others, who may wait for its own.
func (m *many[K, V]) load(keys []K) (again []K) {
	if err := context.Cause(m.ctx); err != nil {
		m.fails(err)
		return nil
	}
	own, joined, behind := m.assign(keys)
	waited := 0
	defer func() { // if fetch panics or calls Goexit
		for _, l := range joined[waited:] {
			l.flight.leave(context.Canceled, errFetchEnded)
		}
	}()
	m.lead(own)
	for _, l := range joined {
		waited++
		if err := l.wait(&m.who, follower, nil); err == nil && l.foundNothing() {
			again = append(again, l.key)
		} else {
			m.take(l, err)
		}
	}
	for _, l := range behind {
		if err := l.wait(&m.who, successor, nil); err != nil {
			m.fail(l.key, err)
		} else {
			again = append(again, l.key)
		}
	}
	return again
}

// take takes the result of a load. err is that of the wait for it.
func (m *many[K, V]) take(l *load[K, V], err error) {
	if err != nil {
		m.fail(l.key, err)
		return
	}
	switch {
	case l.Err == nil:
		m.found[l.key] = l.value
	case l.failure() != nil:
		m.fail(l.key, l.Err)
	}
}

// fail lets a value in Grace stand in, if there is one, and else keeps the first error.
func (m *many[K, V]) fail(key K, err error) {
	if m.ctx.Err() == nil && !m.reload {
		if value, ok := m.cache.shared.standIn(key, &m.who); ok {
			m.has(key, value)
			return
		}
	}
	m.fails(err)
}

// fails keeps the first error.
func (m *many[K, V]) fails(err error) {
	if m.err == nil {
		m.err = err
	}
}

// has adds a value that the cache has by now.
func (m *many[K, V]) has(key K, value V) {
	m.found[key] = value
	if who := m.inGrace[key]; who != nil {
		who.found = true
	}
}

// assign decides what to do about keys: own are loads that this call fetches, with one
// flight; joined are loads of others whose results it takes; behind are loads that must
// end before it can try again.
func (m *many[K, V]) assign(keys []K) (own, joined, behind []*load[K, V]) {
	c := m.cache
	var first *load[K, V]
	for _, key := range keys {
		who := m.who
		value, l, role, err := c.shared.assign(key, &who, first)
		switch role {
		case finder:
			if err == nil {
				m.has(key, value)
			}
		case leader:
			own = append(own, l)
			first = m.batchOf(own)
		case follower:
			c.shared.loading.waiters.Add(1)
			joined = append(joined, l)
		case successor:
			behind = append(behind, l)
		case refused:
			m.fail(key, err)
		}
	}
	return own, joined, behind
}

// lead fetches the call's own loads.
func (m *many[K, V]) lead(own []*load[K, V]) {
	if len(own) == 0 {
		return
	}
	if m.alone {
		m.spawn(own)
		for _, l := range own {
			m.take(l, l.wait(&m.who, leader, nil))
		}
		return
	}
	own[0].batch = own
	err := m.cache.shared.lead(&m.who, own[0], m.fetch)
	for _, l := range own {
		m.take(l, err)
	}
}

// foundNothing reports whether the fetch of a single key found that it has no value, which
// is not kept.
func (l *load[K, V]) foundNothing() bool {
	return l.Err != nil && l.NotFound && l.KeepError <= 0 && !l.mate && l.batch == nil
}

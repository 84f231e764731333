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
	if fetch == nil {
		panic("cache: fetch of TakeMany is nil: want a function")
	}
	m := many[K, V]{cache: c, ctx: ctx, fetch: fetch, found: make(map[K]V, len(keys))}
	missing := m.look(keys)
	defer m.count()
	m.renew()
	for len(missing) > 0 && m.err == nil {
		missing = m.load(missing)
	}
	return m.found, m.err
}

// A many is a call of TakeMany.
type many[K comparable, V any] struct {
	cache   *Cache[K, V]
	ctx     context.Context
	fetch   func(context.Context, []K) (map[K]V, error)
	found   map[K]V
	err     error         // the first of all
	due     []K           // found, and to be renewed
	inGrace map[K]*caller // seen in Grace, and not counted yet
}

// look looks the keys up and returns those that the cache does not have, each once.
func (m *many[K, V]) look(keys []K) (missing []K) {
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
		} else if m.cache.hasher.Reflexive(key) {
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
	if !m.cache.renews {
		return m.cache.Get(key)
	}
	value, seen := m.cache.see(key, true)
	switch seen {
	case isDue:
		m.due = append(m.due, key)
	case inGrace:
		if m.inGrace == nil {
			m.inGrace = make(map[K]*caller)
		}
		m.inGrace[key] = new(caller)
	}
	return value, seen == present || seen == isDue
}

// count counts the keys that were seen in Grace, when they have a result.
func (m *many[K, V]) count() {
	for key, who := range m.inGrace {
		m.cache.count(key, who)
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
		h := c.hasher.Hash(key)
		s := c.lock(h)
		if l := s.beginDue(m.ctx, h, key, first); l != nil {
			own = append(own, l)
			first = own[0]
		}
		s.lock.Unlock()
	}
	if first == nil {
		return
	}
	first.batch = own
	c.spawn(func() { c.run(first, m.fetchBatch, false) })
}

// load finds or loads keys and returns those that it must try again. It ends its own loads
// before it waits for those of others, who may wait for its own.
func (m *many[K, V]) load(keys []K) (again []K) {
	if m.err = context.Cause(m.ctx); m.err != nil {
		return nil
	}
	own, joined, behind := m.assign(keys)
	waited := 0
	defer func() { // if fetch panics
		for _, l := range joined[waited:] {
			l.flight.leave(m.ctx)
		}
	}()
	m.lead(own)
	for _, l := range joined {
		waited++
		m.take(l, l.wait(m.ctx))
	}
	for _, l := range behind {
		if m.err != nil {
			break
		}
		if err := l.waitBehind(m.ctx, nil); err != nil {
			m.fail(l, err)
		} else {
			again = append(again, l.key)
		}
	}
	return again
}

// take takes the result of a load. err is that of the wait for it.
func (m *many[K, V]) take(l *load[K, V], err error) {
	if err != nil {
		m.fail(l, err)
		return
	}
	switch {
	case l.err == nil && !l.absent:
		m.found[l.key] = l.value
	case l.err != nil && l.keepErr == 0:
		m.fail(l, l.err)
	}
}

// fail lets a value in Grace stand in, if there is one, and else keeps the first error.
func (m *many[K, V]) fail(l *load[K, V], err error) {
	if m.ctx.Err() == nil {
		if value, ok := m.cache.standIn(l.key); ok {
			m.has(l.key, value)
			return
		}
	}
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
	within := c.permits.within(m.ctx)
	var first *load[K, V]
	for _, key := range keys {
		who := caller{patient: true}
		value, l, role, err := c.assign(m.ctx, key, &who, first)
		if within && l != nil {
			l.flight.lendPermit()
		}
		switch role {
		case finder:
			if err == nil {
				m.has(key, value)
			}
		case leader:
			own = append(own, l)
			first = own[0]
		case follower:
			c.waiters.Add(1)
			joined = append(joined, l)
		case successor:
			behind = append(behind, l)
		}
	}
	return own, joined, behind
}

// lead fetches the call's own loads.
func (m *many[K, V]) lead(own []*load[K, V]) {
	if len(own) == 0 {
		return
	}
	own[0].batch = own
	_, err := m.cache.lead(m.ctx, own[0], m.fetchBatch)
	for _, l := range own {
		if err != nil { // also if the caller has left, and the fetch goes on
			m.fail(l, err)
		} else {
			m.take(l, nil)
		}
	}
}

// fetchBatch calls fetch for a batch and returns the value of its first load.
func (m *many[K, V]) fetchBatch(ctx context.Context, first *load[K, V]) (value V, err error) {
	missing := make([]K, len(first.batch))
	for i, l := range first.batch {
		missing[i] = l.key
	}
	values, err := m.fetch(ctx, missing)
	if err != nil {
		return value, err
	}
	for _, mate := range first.batch[1:] {
		m.cache.returned(mate, mate.pick(values), nil)
	}
	return first.pick(values), nil
}

// pick returns the value of the load's key. If there is none, nothing is stored.
func (l *load[K, V]) pick(values map[K]V) V {
	value, ok := values[l.key]
	if !ok {
		l.absent, l.Expire = true, -1
	}
	return value
}

// endMates ends the other loads of a batch with the result of its first one, l. If it
// returns reported, settle must follow.
func (c *Cache[K, V]) endMates(l *load[K, V]) (reported bool) {
	for i := 1; i < len(l.batch); i++ {
		mate := l.batch[i]
		mate.err = l.err
		reported = c.conclude(mate) || reported
		mate.publish()
	}
	return reported
}

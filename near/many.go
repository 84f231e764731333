package near

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TakeMany is [Cache.Take] for several keys at once. Those that are not here are read from
// the store in one go, and those that it does not have are loaded by one call of fetch. It
// returns the values of the keys that have one; a key that fetch leaves out has none. The
// first error is returned with all values that were found in spite of it.
//
// A value that ends in the store before LocalExpire, or that there is none, is kept here by
// Take and Get only; with a LocalExpire of 0 that is every value that has a TTL.
func (c *Cache[K, V]) TakeMany(ctx context.Context, keys []K, fetch func(ctx context.Context, missing []K) (map[K]V, error)) (map[K]V, error) {
	if fetch == nil {
		panic("near: TakeMany with a nil fetch")
	}
	m := &many[K, V]{cache: c, fetch: fetch}
	if !c.local.vouchedFor(keys) {
		keys = distinct(keys)
		c.local.counts.unserved.Add(uint64(len(keys)))
		return m.load(ctx, keys)
	}
	values, err := c.local.cache.TakeMany(ctx, keys, m.load)
	for m.joined(err) {
		var more map[K]V
		left := slices.DeleteFunc(distinct(keys), func(key K) bool { _, ok := values[key]; return ok })
		more, err = c.local.cache.TakeMany(ctx, left, m.load)
		maps.Copy(values, more)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(values, m.found) // also what cache.TakeMany ignores beside an error
	return values, err
}

// joined reports whether an error is that of a Get or a Take which the call has joined, and
// which found nothing for its key: then what is left is asked for again.
func (m *many[K, V]) joined(err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err == nil && (err == errMissing || errors.Is(err, m.cache.notFound))
}

// vouchedFor reports whether what is here for keys may be served.
func (l *Local[K, V]) vouchedFor(keys []K) bool {
	if !l.link.serves() {
		return false
	}
	for _, key := range keys {
		if !l.covers(l.key(key)) {
			return false
		}
	}
	return true
}

func distinct[K comparable](keys []K) (once []K) {
	seen := make(map[K]bool, len(keys))
	for _, key := range keys {
		if !seen[key] {
			seen[key] = true
			once = append(once, key)
		}
	}
	return once
}

// A many is a call of TakeMany.
type many[K comparable, V any] struct {
	cache *Cache[K, V]
	fetch func(context.Context, []K) (map[K]V, error)

	mu    sync.Mutex
	err   error   // the first
	found map[K]V // by load, when it has ended
}

func (m *many[K, V]) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

// A lack is a key that the store does not have, with the lease on it if there is one.
type lack[K comparable] struct {
	key   K
	text  string
	token string
}

// load finds the values of keys in the store, or fetches them. What is not to be kept it
// forgets while the load is under way, which is then not stored. An error is one for all
// keys: to others who wait for one of them, a key that is left out has no value.
func (m *many[K, V]) load(ctx context.Context, keys []K) (map[K]V, error) {
	found := m.obtain(ctx, keys)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found == nil {
		m.found = found
	} else {
		maps.Copy(m.found, found)
	}
	return found, m.err
}

func (m *many[K, V]) obtain(ctx context.Context, keys []K) map[K]V {
	c := m.cache
	found := make(map[K]V, len(keys))
	began := time.Now()
	items, texts, err := m.read(ctx, keys)
	if err != nil {
		m.withoutStore(ctx, keys, found, err)
		return found
	}
	var lacks []lack[K]
	var others []K // that somebody else is loading, or that cannot be decoded
	for i, item := range items {
		switch key := keys[i]; item.State {
		case Missing:
			lacks = append(lacks, lack[K]{key, texts[i], item.Token})
		case Leased:
			others = append(others, key)
		default:
			var l cache.Load[V]
			one, err := c.found(item, began, &l)
			switch {
			case err == nil:
				found[key] = one
				m.keepOnly(key, l.Expire)
			case errors.Is(err, errDecode):
				others = append(others, key)
			}
		}
	}
	m.fill(ctx, lacks, found)
	for _, key := range others { // last: those others may wait for what this call has loaded
		c.local.Forget(key)
		one, err := c.load(ctx, key, new(cache.Load[V]), m.fetchOne(key))
		switch {
		case err == nil:
			found[key] = one
		case !errors.Is(err, c.notFound):
			m.fail(unkept(err))
		}
	}
	return found
}

// keepOnly has the value of a load kept only if it may live for LocalExpire: the loads of
// several keys have no TTL of their own.
func (m *many[K, V]) keepOnly(key K, ttl time.Duration) {
	if ttl != m.cache.localExpire {
		m.cache.local.Forget(key)
	}
}

func (m *many[K, V]) fetchOne(key K) func(context.Context) (V, error) {
	return func(ctx context.Context) (V, error) {
		values, err := m.fetch(ctx, []K{key})
		value, ok := values[key]
		if err == nil && !ok {
			err = m.cache.notFound
		}
		return value, err
	}
}

// read reads keys, with leases on those that are missing if the store has such.
func (m *many[K, V]) read(ctx context.Context, keys []K) (items []Item, texts []string, err error) {
	c := m.cache
	for _, key := range keys {
		texts = append(texts, c.local.key(key))
	}
	err = c.ask(ctx, func(ctx context.Context) (err error) {
		if c.leaser != nil {
			items, err = c.leaser.Lease(ctx, c.lease, texts...)
		} else {
			items, err = c.store.Get(ctx, texts...)
		}
		return err
	})
	return items, texts, err
}

// fill fetches what the store does not have, and stores it there.
func (m *many[K, V]) fill(ctx context.Context, lacks []lack[K], found map[K]V) {
	if len(lacks) == 0 {
		return
	}
	c := m.cache
	keys := make([]K, len(lacks))
	for i, one := range lacks {
		if keys[i] = one.key; one.token == "" {
			c.unshare(one.key)
		}
	}
	fetched := false
	defer func() {
		if !fetched { // it failed, panicked or exited
			m.each(lacks, func(one lack[K]) {
				if one.token != "" {
					c.release(ctx, one.text, one.token)
				}
			})
		}
	}()
	values, err := m.fetch(ctx, keys)
	if err != nil {
		m.fail(err)
		return
	}
	fetched = true
	take(found, values, keys)
	m.each(lacks, func(one lack[K]) {
		value, ok := values[one.key]
		m.store(ctx, one, value, ok)
	})
}

// each calls f for lacks, all at once: the calls of the store share round trips.
func (m *many[K, V]) each(lacks []lack[K], f func(lack[K])) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, one := range lacks {
		all.Go(func() { f(one) })
	}
}

// store stores what was fetched for a key, or that it has no value.
func (m *many[K, V]) store(ctx context.Context, one lack[K], value V, ok bool) {
	c := m.cache
	l := cache.Load[V]{}
	_, err := c.fetch(ctx, one.key, one.token, &l, func(context.Context) (V, error) {
		if !ok {
			return value, c.notFound
		}
		return value, nil
	})
	if err != nil && !errors.Is(err, c.notFound) {
		m.fail(err)
	}
	m.keepOnly(one.key, l.Expire)
}

// withoutStore is what load does when the store cannot be asked.
func (m *many[K, V]) withoutStore(ctx context.Context, keys []K, found map[K]V, storeErr error) {
	c := m.cache
	var left []K
	for _, key := range keys {
		if one, ok := c.standIn(key); ok {
			found[key] = one
		} else {
			left = append(left, key)
		}
		c.unshare(key)
	}
	switch {
	case len(left) == 0:
		return
	case context.Cause(ctx) != nil:
		m.fail(context.Cause(ctx))
		return
	case c.away == Fail:
		m.fail(storeErr)
		return
	}
	c.counts.bypasses.Add(1)
	values, err := m.fetch(ctx, left)
	if err != nil {
		m.fail(err)
		return
	}
	take(found, values, left)
}

// take adds the values that keys have. What was fetched beside is ignored.
func take[K comparable, V any](found map[K]V, values map[K]V, keys []K) {
	for _, key := range keys {
		if value, ok := values[key]; ok {
			found[key] = value
		}
	}
}

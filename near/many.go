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

// TakeMany is [Cache.Take] for several keys at once. It reads the keys that are not in memory
// from the store at once, and loads those that the store does not have by one call of
// fetch. It returns the values of the keys that have one; a key that fetch leaves out has
// none. It returns the first error together with all values that it found.
//
// TakeMany does not keep everything in memory: not a "not found", and not a value that
// expires in the store before LocalExpire; with a LocalExpire of 0, no value with a TTL. The
// next Take or Get keeps those.
func (c *Cache[K, V]) TakeMany(ctx context.Context, keys []K, fetch func(ctx context.Context, missing []K) (map[K]V, error)) (map[K]V, error) {
	if fetch == nil {
		panic("near: fetch of TakeMany is nil: want a function")
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
	maps.Copy(values, m.found) // with an error cache.TakeMany ignores them
	return values, err
}

// joined reports whether an error is that of a Get or Take that this call has joined and that
// found no value for its key: then TakeMany tries the remaining keys again.
func (m *many[K, V]) joined(err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err == nil && (err == errMissing || errors.Is(err, m.cache.notFound))
}

// vouchedFor reports whether values of keys in memory may be served.
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
	err   error   // the first one
	found map[K]V // the results of load
}

func (m *many[K, V]) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

// A lack is a key that the store does not have, with the token of the lease, if it has leases.
type lack[K comparable] struct {
	key   K
	text  string
	token string
}

// load finds the values of keys in the store, or fetches them. To keep a value out of memory
// it forgets the key while the load is under way. Its error is that of all keys. For other
// callers that wait for a key, a key that is left out has no value.
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
	var others []K // another caller loads them, or they cannot be decoded
	for i, item := range items {
		switch key := keys[i]; item.State {
		case Missing:
			lacks = append(lacks, lack[K]{key, texts[i], item.Token})
		case Leased:
			others = append(others, key)
		default:
			var l cache.Load[V]
			one, err := c.found(ctx, texts[i], item, began, &l)
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
	for _, key := range others { // last: other callers may wait for loads of this call
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

// keepOnly keeps a value out of memory if its TTL is not LocalExpire: the loads of
// cache.TakeMany cannot set a TTL.
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

// read reads keys, and takes leases on missing ones if the store has leases.
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

// fill fetches the keys that the store does not have, and stores them there.
func (m *many[K, V]) fill(ctx context.Context, lacks []lack[K], found map[K]V) {
	if len(lacks) == 0 {
		return
	}
	c := m.cache
	keys := make([]K, len(lacks))
	for i, one := range lacks {
		if keys[i] = one.key; one.token == "" {
			defer c.unshareLater(one.key)()
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

// each calls f for all lacks concurrently, so that calls of the store share round trips.
func (m *many[K, V]) each(lacks []lack[K], f func(lack[K])) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, one := range lacks {
		all.Go(func() { f(one) })
	}
}

// store stores the fetched value of a key, or that it has none.
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

// withoutStore ends load after the store returned an error, as ServeOn and Away say.
func (m *many[K, V]) withoutStore(ctx context.Context, keys []K, found map[K]V, storeErr error) {
	c := m.cache
	var left []K
	for _, key := range keys {
		if one, ok := c.standIn(key); ok {
			found[key] = one
			continue
		}
		left = append(left, key)
		defer c.unshareLater(key)()
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
	c.local.Forget(left...) // as the store does not have them
}

// take copies the values of keys. Values of other keys are ignored.
func take[K comparable, V any](found map[K]V, values map[K]V, keys []K) {
	for _, key := range keys {
		if value, ok := values[key]; ok {
			found[key] = value
		}
	}
}

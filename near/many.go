package near

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TakeMany is [Cache.Take] for several keys at once. It reads the keys that are not in memory
// from the store at once, and loads those that the store does not have by one call of
// fetch. Keys that other instances load it waits for, all at once, and then loads those
// that have no value by another call. It returns the values of the keys that have one; a key
// that fetch leaves out has none, as if a fetch of Take had returned NotFound. It returns the
// first error together with all values that it found.
func (c *Cache[K, V]) TakeMany(ctx context.Context, keys []K, fetch func(ctx context.Context, missing []K) (map[K]V, error)) (map[K]V, error) {
	if fetch == nil {
		panic("near: fetch of TakeMany is nil: want a function")
	}
	old := standIns[K, V]{own: map[K]V{}, asked: map[K]bool{}}
	values, err := c.local.takeMany(ctx, keys, func(ctx context.Context, loads map[K]*cache.Load[V]) (map[K]V, error) {
		m := many[K, V]{cache: c, fetch: fetch, loads: loads, found: make(map[K]V, len(loads))}
		m.load(ctx, slices.DeleteFunc(distinct(keys), func(key K) bool { return loads[key] == nil }))
		old.note(loads)
		return m.found, nil
	})
	if c.grace > 0 {
		err = old.add(ctx, c, keys, values, fetch, err)
	}
	if c.clone != nil {
		for key, value := range values {
			values[key] = c.clone(value)
		}
	}
	return values, err
}

// A many loads several keys. The Load of each is told what [Cache.load] tells that of one.
type many[K comparable, V any] struct {
	cache *Cache[K, V]
	fetch func(context.Context, []K) (map[K]V, error)
	loads map[K]*cache.Load[V]
	found map[K]V
}

// load finds the values of keys in the store, or fetches them.
func (m *many[K, V]) load(ctx context.Context, keys []K) {
	defer m.cache.local.groups.members.begin(keys...)()
	if again := m.round(ctx, keys, false); len(again) > 0 {
		m.round(ctx, again, true)
	}
}

// round reads keys from the store and fetches those that it does not have. In the first round
// it returns those that others have loaded meanwhile, and those that could not be decoded. In
// the last one it waits for nobody.
func (m *many[K, V]) round(ctx context.Context, keys []K, last bool) (again []K) {
	c := m.cache
	began := time.Now()
	items, texts, err := m.read(ctx, keys)
	if err == nil {
		again, err = m.dropOutdated(ctx, keys, texts, items, last)
	}
	if err != nil {
		m.withoutStore(ctx, keys, err)
		return nil
	}
	var lacks, aging []lack[K, V]
	var held []lease
	var bad []string
	for i, item := range items {
		key, text := keys[i], texts[i]
		switch {
		case slices.Contains(again, key):
		case item.State == Missing:
			lacks = append(lacks, lack[K, V]{key: key, text: text, item: item})
		case item.State == Leased && last:
			lacks = append(lacks, lack[K, V]{key: key, text: text})
		case item.State == Leased:
			held = append(held, lease{text, item.Holder, began.Add(orDefault(item.TTL, c.lease))})
			again = append(again, key)
		default:
			value, err := c.found(item, began, m.loads[key])
			if errors.Is(err, errDecode) && !last {
				bad = append(bad, text)
				again = append(again, key)
			} else {
				m.found[key], m.loads[key].Err = value, err
			}
			if err == nil && item.isDue() {
				aging = append(aging, lack[K, V]{key, text, item, value})
			}
		}
	}
	lacks = append(lacks, m.aging(ctx, aging, began)...)
	m.fill(ctx, lacks)
	m.standIn(lacks, began)
	if len(bad) > 0 { // after an error they are read again
		_ = c.ask(ctx, func(ctx context.Context) error { return c.store.Del(ctx, bad...) })
	}
	c.await(ctx, held) // after the fetch: the others may wait for its keys
	return again
}

// dropOutdated removes the items of groups that have been removed since from the store, and returns
// their keys, which are to be read again. In the last round they are missing instead.
func (m *many[K, V]) dropOutdated(ctx context.Context, keys []K, texts []string, items []Item, last bool) (again []K, err error) {
	c := m.cache
	old, err := c.outdated(ctx, keys, items)
	if err != nil {
		return nil, err
	}
	var drop []int
	for i := range items {
		switch {
		case !old[i]:
		case last:
			items[i] = Item{State: Missing}
		default:
			again, drop = append(again, keys[i]), append(drop, i)
		}
	}
	return again, together(drop, func(i int) error { return c.dropOutdated(ctx, texts[i], items[i]) })
}

// read reads keys, and takes leases on missing ones that may exist if the store has leases.
func (m *many[K, V]) read(ctx context.Context, keys []K) (items []Item, texts []string, err error) {
	c := m.cache
	var lease, get []string
	leased := make([]bool, len(keys))
	for i, key := range keys {
		text := c.local.key(key)
		texts = append(texts, text)
		if leased[i] = c.leaser != nil && c.mayExist(key); leased[i] {
			lease = append(lease, text)
		} else {
			get = append(get, text)
		}
	}
	var got, more []Item
	err = c.ask(ctx, func(ctx context.Context) (err error) {
		if len(get) > 0 {
			got, err = c.store.Get(ctx, get...)
		}
		if len(lease) > 0 && err == nil {
			more, err = c.leaser.Lease(ctx, c.lease, lease...)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for _, leased := range leased {
		from := &got
		if leased {
			from = &more
		}
		items = append(items, (*from)[0])
		*from = (*from)[1:]
	}
	return items, texts, nil
}

// fill fetches the keys that the store does not have, and stores them there.
func (m *many[K, V]) fill(ctx context.Context, lacks []lack[K, V]) {
	if len(lacks) == 0 {
		return
	}
	c := m.cache
	keys := make([]K, len(lacks))
	for i, one := range lacks {
		if keys[i] = one.key; one.item.Token == "" {
			defer c.unshareLater(one.key)()
		}
	}
	fetched := false
	defer func() {
		if !fetched { // it failed, panicked or exited
			each(lacks, func(one lack[K, V]) {
				if one.item.Token != "" {
					c.release(ctx, one.text, one.item.Token)
				}
			})
		}
	}()
	ctx, leave, err := c.places.enter(ctx, c.lease)
	if err != nil {
		m.fail(keys, err)
		return
	}
	defer leave()
	began := c.start(ctx, slices.ContainsFunc(lacks, func(one lack[K, V]) bool { return one.item.Token != "" }))
	values, err := m.fetch(ctx, keys)
	if err != nil {
		m.fail(keys, err)
		return
	}
	fetched = true
	m.take(keys, values)
	each(lacks, func(one lack[K, V]) {
		l := m.loads[one.key]
		_, l.Err = c.fetch(ctx, one, l, began, func(context.Context, *cache.Load[V]) (V, error) { return m.found[one.key], l.Err })
	})
}

// each calls f for all lacks concurrently, so that calls of the store share round trips.
func each[K comparable, V any](lacks []lack[K, V], f func(lack[K, V])) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, one := range lacks {
		all.Go(func() { f(one) })
	}
}

// withoutStore ends a round after the store returned an error, as ServeOn and Away say.
func (m *many[K, V]) withoutStore(ctx context.Context, keys []K, storeErr error) {
	c := m.cache
	var left []K
	for _, key := range keys {
		m.loads[key].Expire = -1
		if value, ok := c.standIn(key); ok {
			m.found[key] = value
		} else {
			left = append(left, key)
			defer c.unshareLater(key)()
		}
	}
	switch {
	case len(left) == 0:
		return
	case context.Cause(ctx) != nil:
		m.fail(left, context.Cause(ctx))
		return
	case c.away == Fail:
		m.fail(left, storeErr)
		return
	}
	ctx, leave, err := c.places.enter(ctx, c.lease)
	if err != nil {
		m.fail(left, err)
		return
	}
	defer leave()
	c.counts.bypasses.Add(1)
	began := time.Now()
	values, err := m.fetch(ctx, left)
	if err != nil {
		m.fail(left, err)
		return
	}
	m.take(left, values)
	for _, key := range left {
		m.loads[key].Expire = c.brief(began)
		if value, ok := m.found[key]; ok {
			c.join(key, c.groupsOf(key, value))
		}
	}
}

// fail makes err the result of keys.
func (m *many[K, V]) fail(keys []K, err error) {
	for _, key := range keys {
		m.loads[key].Err = err
	}
}

// take takes from values the results of keys. Values of other keys are ignored.
func (m *many[K, V]) take(keys []K, values map[K]V) {
	for _, key := range keys {
		if value, ok := values[key]; ok {
			m.found[key] = value
		} else {
			m.loads[key].Err, m.loads[key].NotFound = m.cache.notFound, true
		}
	}
}

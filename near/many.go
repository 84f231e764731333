package near

import (
	"context"
	"errors"
	"maps"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TakeMany is [Cache.Take] for several keys at once. It reads the keys that are not in memory from
// the store at once, and loads those that the store does not have by one call of fetch. If other
// callers in the fleet load some of them, it waits for these, and calls fetch a second time for
// those for which it has waited in vain. It returns the values of the keys that have one; a key
// that fetch leaves out has none. It returns the error of one key together with all values that it
// found.
func (c *Cache[K, V]) TakeMany(ctx context.Context, keys []K, fetch func(ctx context.Context, missing []K) (map[K]V, error)) (values map[K]V, err error) {
	if fetch == nil {
		panic("near: fetch of TakeMany is nil: want a function")
	}
	load := c.local.begun(func(ctx context.Context, keys []K, loads []*cache.Load[V]) (map[K]V, error) {
		return c.loadMany(ctx, keys, loads, func(ctx context.Context, missing []K, _ []*cache.Load[V]) (map[K]V, error) {
			return fetch(ctx, missing)
		})
	})
	return c.takeAll(keys, func(keys []K) (map[K]V, map[K]error) { return cache.For(c.local.cache).TakeMany(ctx, keys, load) })
}

// FetchMany is [Cache.TakeMany] with the loader of the options. Cache.LoadMany is called as fetch is. With
// Cache.Load alone each key has a load of its own, which reads the store and takes a lease by itself, all
// at once but for MaxLoads: for many keys, LoadMany saves these round trips. Without a loader the error
// wraps cache.ErrArgument.
func (c *Cache[K, V]) FetchMany(ctx context.Context, keys []K) (map[K]V, error) {
	if !c.local.loads {
		return nil, noLoader("FetchMany")
	}
	return c.takeAll(keys, func(keys []K) (map[K]V, map[K]error) { return cache.For(c.local.cache).FetchMany(ctx, keys) })
}

// takeAll takes keys by a function that returns the errors of single keys, which it calls again for those
// for which it has joined a load that did not fetch them.
func (c *Cache[K, V]) takeAll(keys []K, take func(keys []K) (map[K]V, map[K]error)) (values map[K]V, err error) {
	for _, key := range keys {
		c.draw(key)
	}
	values = make(map[K]V, len(keys))
	for first := true; first || len(keys) > 0; first = false {
		c.local.settle()
		found, errs := take(keys)
		maps.Copy(values, found)
		keys = nil
		for key, failed := range errs {
			switch {
			case beginsAgain(failed):
				keys = append(keys, key)
			case err == nil && !isGone(failed) && !errors.Is(failed, c.notFound):
				err = unkept(failed)
			}
		}
	}
	if c.clone != nil {
		for key, value := range values {
			values[key] = c.clone(value)
		}
	}
	return values, err
}

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
	values = make(map[K]V, len(keys))
	c.local.settle()
	var missing []K
	for _, key := range distinct(keys) {
		if value, ok := c.local.cache.Get(key); ok {
			values[key] = value
		} else {
			missing = append(missing, key)
		}
	}
	for len(missing) > 0 {
		found, errs := c.takeMissing(ctx, missing, fetch)
		maps.Copy(values, found)
		missing = nil
		for key, failed := range errs {
			switch {
			case isOfGet(failed):
				missing = append(missing, key)
			case err == nil && !errors.Is(failed, c.notFound):
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

// takeMissing is the part of TakeMany for keys that are not in memory, each of which is there
// once. It returns the errors of single keys.
func (c *Cache[K, V]) takeMissing(ctx context.Context, missing []K, fetch func(ctx context.Context, missing []K) (map[K]V, error)) (map[K]V, map[K]error) {
	return c.local.missedMany(ctx, missing, func(ctx context.Context, keys []K, loads []*cache.Load[V]) (map[K]V, error) {
		all := make([]*lookup[K, V], len(keys))
		for i, key := range keys {
			all[i] = c.lookup(key, loads[i])
		}
		c.find(ctx, all, func(ctx context.Context, lacking []*lookup[K, V]) { c.fetchMany(ctx, lacking, fetch) })
		values := make(map[K]V, len(keys))
		for i, one := range all {
			values[one.key], loads[i].Err = one.value, one.err
		}
		return values, nil
	})
}

func (c *Cache[K, V]) fetchMany(ctx context.Context, lacking []*lookup[K, V], fetch func(ctx context.Context, missing []K) (map[K]V, error)) {
	missing := make([]K, len(lacking))
	for i, one := range lacking {
		missing[i] = one.key
	}
	values, err := fetch(ctx, missing)
	for _, one := range lacking {
		value, ok := values[one.key]
		if one.value, one.err = value, err; err == nil && !ok {
			one.err = c.notFound
		}
	}
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

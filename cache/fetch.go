// This file has the Takes by the loader of the options: Fetch, FetchMany and Refresh.

package cache

import "context"

// Fetch is [Cache.TakeWith] by the loader of the options: Load or, without that, LoadMany for one
// key. So it needs no function at each call, and allocates nothing at a hit. It panics if the
// cache has no loader.
func (c *Cache[K, V]) Fetch(ctx context.Context, key K) (V, error) {
	if c.fetch == nil {
		noLoader("Fetch")
	}
	checkContext(ctx, "Fetch")
	value, first := c.shared.see(key, true)
	if first == finder {
		return value, nil
	}
	return c.shared.takeSlowCtx(ctx, key, first, value, c.fetch)
}

// FetchMany is [Cache.TakeManyWith] by the loader of the options. Without LoadMany, Load is called
// for each key that is missing, for all at the same time; then a panic of it is an error, a
// [PanicError]. FetchMany panics if the cache has no loader.
func (c *Cache[K, V]) FetchMany(ctx context.Context, keys ...K) (map[K]V, error) {
	m := c.manyByLoader(ctx, "FetchMany", len(keys))
	m.takeAll(keys)
	return m.found, m.err
}

// Refresh loads the values of keys now by the loader of the options, as [Cache.FetchMany] does
// for keys that have none, and returns when these loads have ended, or the cause of ctx if that
// ends first. If the key is being loaded already, Refresh waits for that load.
//
// Until then, and if its load fails, a key keeps the value that it has, and Refresh returns the
// first error. A key without a value, as its load says by NotFound, loses the old one, without
// an error. Refresh pays no heed to kept errors, nor to the pause after a load that has
// failed. It counts as neither hit nor miss, and panics if the cache has no loader.
func (c *Cache[K, V]) Refresh(ctx context.Context, keys ...K) error {
	m := c.manyByLoader(ctx, "Refresh", len(keys))
	m.reload = true
	m.loadAll(m.distinct(keys))
	return m.err
}

// setLoader makes the fetches of the options.
func (c *Cache[K, V]) setLoader(o Options[K, V]) {
	if o.LoadMany != nil {
		c.fetchMany = fetchLoads[K, V](o.LoadMany)
		c.fetch = fetchAlone[K, V](o.LoadMany)
	}
	if o.Load != nil {
		c.fetch = fetchKey[K, V](o.Load)
	}
}

// manyByLoader returns a call of FetchMany or Refresh, for n keys.
func (c *Cache[K, V]) manyByLoader(ctx context.Context, method string, n int) many[K, V] {
	if c.fetch == nil {
		noLoader(method)
	}
	checkContext(ctx, method)
	m := c.many(ctx, n)
	if m.fetch = c.fetchMany; m.fetch == nil {
		m.fetch, m.alone = c.fetch, true
	}
	return m
}

func noLoader(method string) {
	panic("cache: " + method + " of a cache without a loader: want the option Load or LoadMany")
}

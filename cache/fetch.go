// This file has the methods that load by the options Load and LoadMany: Fetch, FetchMany and Refresh.

package cache

import "context"

// Loading is a cache that knows how to load: a [Cache] with Load or LoadMany, or one of package near. A
// service that depends on Loading can be given either, and in its tests a fake. Its methods are safe
// for concurrent use. For a key without a value the error of Fetch is that of its load, or else one of
// which errors.Is(err, [ErrNotFound]) is true: compare by that, as package near
// has an error of its own, unless its option NotFound is another one.
// FetchMany leaves such a key out, unless its load has returned an error that nothing keeps.
type Loading[K comparable, V any] interface {
	Fetch(ctx context.Context, key K) (V, error)
	FetchMany(ctx context.Context, keys []K) (map[K]V, error)
}

var _ Loading[string, any] = (*Cache[string, any])(nil)

// Fetch returns the value of a key, or loads it by the option Load, or else by LoadMany. It is
// [Cache.TakeCtx] but for its function, which it need not be given: a function that is made at each call
// would be allocated at each hit. If the load says that there is no value, the error is [ErrNotFound],
// or that of the load. Without either option the error wraps [ErrArgument].
func (c *Cache[K, V]) Fetch(ctx context.Context, key K) (V, error) {
	checkContext(ctx, "Fetch")
	if c.loaders == nil { // before the look, which may claim a value that is due
		var none V
		return none, noLoader("Fetch")
	}
	old, seen := c.see(key, true)
	if seen == hit {
		return old, nil
	}
	return c.takeSlowCtx(ctx, key, seen, old, c.loaders.one, c.loaders.gatherer)
}

// FetchMany is [Cache.Fetch] for several keys, and returns the values of those that have one. It loads
// those that are missing by one call of the option LoadMany, as [Cache.TakeMany] does; or by a call of
// Load for each, all at once but for MaxLoads. It leaves keys without a value out, also those with an error
// that Negative keeps or of which the load says Gone. It returns the first other error of a key with the
// values of all others.
func (c *Cache[K, V]) FetchMany(ctx context.Context, keys []K) (map[K]V, error) {
	checkContext(ctx, "FetchMany")
	if c.loaders == nil {
		return nil, noLoader("FetchMany")
	}
	m := c.fetching(ctx, keys)
	m.take(keys)
	return m.found, m.err
}

// fetching returns what is to take keys by the options Load and LoadMany.
func (c *Cache[K, V]) fetching(ctx context.Context, keys []K) many[K, V] {
	return many[K, V]{cache: c, ctx: ctx, fetch: c.loaders.many, apart: c.loaders.apart, found: make(map[K]V, len(keys))}
}

// Refresh loads keys now, also those with a value that is fresh, as FetchMany loads those that are
// missing. The loads begin after Refresh was called: one that is under way may have read before, so
// another is begun beside it, whose result counts. A load of another method that began later will do. A
// value stays until the new one is there, and if the load fails, unless Negative keeps the error, or the
// load says Gone: then it leaves, and Refresh returns no error for it. Kept errors stop no load. Refresh
// returns the first error, and counts no gets.
func (c *Cache[K, V]) Refresh(ctx context.Context, keys ...K) error {
	checkContext(ctx, "Refresh")
	if c.loaders == nil {
		return noLoader("Refresh")
	}
	m := many[K, V]{cache: c, ctx: ctx, fetch: c.loaders.many, apart: c.loaders.apart, since: c.common.time.clock.MustNow()}
	m.loadAll(c.distinct(keys))
	return m.err
}

// distinct returns each of the keys once, without those that are not equal to themselves.
func (c *Cache[K, V]) distinct(keys []K) (once []K) {
	c.checkKeys(keys)
	seen := make(map[K]struct{}, len(keys))
	for _, key := range keys {
		if _, again := seen[key]; !again && c.common.hasher.Reflexive(key) {
			seen[key] = struct{}{}
			once = append(once, key)
		}
	}
	return once
}

// loaders are the options Load and LoadMany: either does for both.
type loaders[K comparable, V any] struct {
	one, many fetcher[K, V]
	apart     bool            // many loads one key at a time
	gatherer  *gatherer[K, V] // nil without Batch
}

// loadersOf returns the loaders of a cache with options o, or nil.
func loadersOf[K comparable, V any](o *Options[K, V]) *loaders[K, V] {
	one, many := fetchKey[K, V](o.Load), fetchKeys[K, V](o.LoadMany)
	switch {
	case one == nil && many == nil:
		return nil
	case many == nil:
		return &loaders[K, V]{one: one, many: one, apart: true}
	case o.Batch > 0:
		return &loaders[K, V]{one: many, many: many, gatherer: &gatherer[K, V]{window: o.Batch}}
	case one == nil:
		return &loaders[K, V]{one: many, many: many}
	}
	return &loaders[K, V]{one: one, many: many}
}

func noLoader(method string) error {
	return wrongArgument("%s of a cache without Load and LoadMany: want one of these options, or TakeCtx", method)
}

// This file has what packages need that build on a cache, as near does.

package cache

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Base is a cache as packages see it that build on one, as near does. Programs need none. It is safe
// for concurrent use.
type Base[K comparable, V any] struct{ cache *Cache[K, V] }

// For returns the Base of a cache.
func For[K comparable, V any](c *Cache[K, V]) Base[K, V] { return Base[K, V]{c} }

// Take is [Cache.TakeWith] for a caller whose Get has just missed the key: it counts no second miss.
// Get and Take together allocate a function literal for fetch only at a miss; TakeWith allocates it at
// every hit.
func (b Base[K, V]) Take(ctx context.Context, key K, fetch func(ctx context.Context, l *Load[V]) (V, error)) (V, error) {
	checkTake(ctx, fetch == nil, "Take")
	var none V
	return b.cache.takeSlowCtx(ctx, key, miss, none, fetchWith[K, V](fetch), nil)
}

// TakeMany is [Cache.TakeMany] with a function as the option LoadMany. It returns values, and the errors
// of single keys. A key with a kept error has neither, unless the error has a method KeptAsPause.
func (b Base[K, V]) TakeMany(ctx context.Context, keys []K, fetch func(ctx context.Context, missing []K, loads []*Load[V]) (map[K]V, error)) (map[K]V, map[K]error) {
	checkTake(ctx, fetch == nil, "TakeMany")
	m := many[K, V]{cache: b.cache, ctx: ctx, fetch: fetchKeys[K, V](fetch), found: make(map[K]V, len(keys)), errs: map[K]error{}}
	m.take(keys)
	return m.found, m.errs
}

// FetchMany is [Cache.FetchMany] of a cache with Load or LoadMany, but returns what TakeMany does.
func (b Base[K, V]) FetchMany(ctx context.Context, keys []K) (map[K]V, map[K]error) {
	checkContext(ctx, "FetchMany")
	m := b.cache.fetching(ctx, keys)
	m.errs = map[K]error{}
	m.take(keys)
	return m.found, m.errs
}

// Closed reports whether Close has been called.
func (b Base[K, V]) Closed() bool { return b.cache.gate.closed.Load() }

// Amend makes amend change each Snapshot of the cache before Stats or package stats return it, to add
// counts of its own. It is called outside all locks, by several goroutines at once, and must not ask for
// statistics. failures says why the store failed last, and why the source lost its connection. Call
// Amend once, before the cache is used. Either may be nil.
func (b Base[K, V]) Amend(amend func(*stats.Snapshot), failures func() (store, source *sources.Failure)) {
	b.cache.owner.Store(&owner{amend, failures})
}

// An owner is a package that builds on the cache, as statistics see it.
type owner struct {
	amend    func(*stats.Snapshot)
	failures func() (store, source *sources.Failure)
}

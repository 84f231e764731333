// This file has what packages need that build on a cache, as near does.

package cache

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/cache/internal/flight"
	"github.com/pinwheel-cache/pinwheel/internal/base"
)

// For returns a cache as packages of this module see it that build on one, as near does. Programs do
// not need it.
func For[K comparable, V any](c *Cache[K, V]) base.Cache[K, V, Load[V]] { return inner[K, V]{c} }

// An inner is what For returns: base.Cache says what its methods do.
type inner[K comparable, V any] struct{ cache *Cache[K, V] }

func (b inner[K, V]) Take(ctx context.Context, key K, fetch func(ctx context.Context, l *Load[V]) (V, error)) (V, error) {
	checkTake(ctx, fetch == nil, "Take")
	var none V
	return b.cache.takeSlowCtx(ctx, key, miss, none, fetchWith[K, V](fetch), nil)
}

func (b inner[K, V]) TakeMany(ctx context.Context, keys []K, fetch func(ctx context.Context, missing []K, loads []*Load[V]) (map[K]V, error)) (map[K]V, map[K]error) {
	checkTake(ctx, fetch == nil, "TakeMany")
	m := many[K, V]{cache: b.cache, ctx: ctx, fetch: fetchKeys[K, V](fetch), found: make(map[K]V, len(keys)), errs: map[K]error{}}
	m.take(keys)
	return m.found, m.errs
}

func (b inner[K, V]) FetchMany(ctx context.Context, keys []K) (map[K]V, map[K]error) {
	checkContext(ctx, "FetchMany")
	m := b.cache.fetching(ctx, keys)
	m.errs = map[K]error{}
	m.take(keys)
	return m.found, m.errs
}

func (b inner[K, V]) Closed() bool { return b.cache.gate.closed.Load() }

func (b inner[K, V]) Name() string { return b.cache.common.loads.cache }

func (b inner[K, V]) Hash(key K) uint64 { return b.cache.common.hasher.Hash(key) }

func (b inner[K, V]) Follow(told base.Followed) { b.cache.common.loads.followed = told }

var _ base.Load = (*flight.Flight)(nil)

func (b inner[K, V]) Amend(by base.Owner) { b.cache.owner.Store(&by) }

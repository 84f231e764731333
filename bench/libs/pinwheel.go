package libs

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type pinwheel[K Key, V any] struct {
	*cache.Cache[K, V]
	load func(K) (V, error)
}

func newPinwheel[K Key, V any](c Config[K, V]) Cache[K, V] {
	return pinwheel[K, V]{cache.Must(cache.Options[K, V]{Limit: c.Capacity, Expire: c.TTL}), c.Load}
}

func newPinwheelAdaptive[K Key, V any](c Config[K, V]) Cache[K, V] {
	return pinwheel[K, V]{cache.Must(cache.Options[K, V]{Limit: c.Capacity, Expire: c.TTL, Policy: cache.Adaptive}), c.Load}
}

func (p pinwheel[K, V]) SetTTL(key K, value V, ttl time.Duration) { p.SetWithExpire(key, value, ttl) }

func (p pinwheel[K, V]) Touch(key K, ttl time.Duration) { p.Cache.Touch(key, ttl) }

func (p pinwheel[K, V]) Take(key K) (V, error) {
	return p.Cache.Take(key, func() (V, error) { return p.load(key) })
}

func (p pinwheel[K, V]) Close() { _ = p.Cache.Close(context.Background()) }

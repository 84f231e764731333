package libs

import (
	"context"
	"time"

	"github.com/phuslu/lru"
)

type phusluTTL[K Key, V any] struct {
	*lru.TTLCache[K, V]
	ttl  time.Duration
	load func(context.Context, K) (V, time.Duration, error)
}

func newPhuslu[K Key, V any](c Config[K, V]) Cache[K, V] {
	return phusluTTL[K, V]{lru.NewTTLCache[K, V](c.Capacity), c.TTL, func(_ context.Context, key K) (V, time.Duration, error) {
		value, err := c.Load(key)
		return value, c.TTL, err
	}}
}

func (p phusluTTL[K, V]) Set(key K, value V) { p.TTLCache.Set(key, value, p.ttl) }

func (p phusluTTL[K, V]) SetTTL(key K, value V, ttl time.Duration) { p.TTLCache.Set(key, value, ttl) }

func (p phusluTTL[K, V]) Take(key K) (V, error) {
	value, err, _ := p.GetOrLoad(context.Background(), key, p.load)
	return value, err
}

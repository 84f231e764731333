package libs

import (
	"context"
	"time"

	"github.com/Yiling-J/theine-go"
)

type theineCache[K Key, V any] struct {
	*theine.Cache[K, V]
	ttl time.Duration
}

// newTheine returns a loading cache, which is a type of its own in theine, for
// cases that load.
func newTheine[K Key, V any](c Config[K, V]) Cache[K, V] {
	b := theine.NewBuilder[K, V](int64(c.Capacity))
	if c.Load != nil {
		l, err := b.BuildWithLoader(func(_ context.Context, key K) (theine.Loaded[V], error) {
			value, err := c.Load(key)
			return theine.Loaded[V]{Value: value, Cost: 1, TTL: c.TTL}, err
		})
		if err != nil {
			panic(err)
		}
		return theineLoading[K, V]{l, c.TTL}
	}
	t, err := b.Build()
	if err != nil {
		panic(err)
	}
	return theineCache[K, V]{t, c.TTL}
}

func (t theineCache[K, V]) Set(key K, value V) { t.SetWithTTL(key, value, 1, t.ttl) }

func (t theineCache[K, V]) SetTTL(key K, value V, ttl time.Duration) {
	t.SetWithTTL(key, value, 1, ttl)
}

func (t theineCache[K, V]) Settle() { t.Wait() }

type theineLoading[K Key, V any] struct {
	c   *theine.LoadingCache[K, V]
	ttl time.Duration
}

func (t theineLoading[K, V]) Get(key K) (V, bool) {
	value, err := t.Take(key)
	return value, err == nil
}

func (t theineLoading[K, V]) Set(key K, value V) { t.c.SetWithTTL(key, value, 1, t.ttl) }

func (t theineLoading[K, V]) Take(key K) (V, error) { return t.c.Get(context.Background(), key) }

func (t theineLoading[K, V]) Settle() { t.c.Wait() }

func (t theineLoading[K, V]) Close() { t.c.Close() }

package libs

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"
)

type otterCache[K Key, V any] struct {
	c    *otter.Cache[K, V]
	load otter.LoaderFunc[K, V]
}

func newOtter[K Key, V any](c Config[K, V]) Cache[K, V] {
	o := otter.Options[K, V]{MaximumSize: c.Capacity, ExpiryCalculator: otter.ExpiryWriting[K, V](c.TTL)}
	return otterCache[K, V]{otter.Must(&o), func(_ context.Context, key K) (V, error) { return c.Load(key) }}
}

func (o otterCache[K, V]) Get(key K) (V, bool) { return o.c.GetIfPresent(key) }

func (o otterCache[K, V]) Set(key K, value V) { o.c.Set(key, value) }

// SetTTL takes two calls: otter has no single one that does both.
func (o otterCache[K, V]) SetTTL(key K, value V, ttl time.Duration) {
	o.c.Set(key, value)
	o.c.SetExpiresAfter(key, ttl)
}

func (o otterCache[K, V]) Touch(key K, ttl time.Duration) { o.c.SetExpiresAfter(key, ttl) }

func (o otterCache[K, V]) Take(key K) (V, error) {
	return o.c.Get(context.Background(), key, o.load)
}

func (o otterCache[K, V]) Len() int { return o.c.EstimatedSize() }

func (o otterCache[K, V]) Settle() { o.c.CleanUp() }

func (o otterCache[K, V]) Close() { o.c.StopAllGoroutines() }

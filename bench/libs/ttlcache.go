package libs

import (
	"time"

	"github.com/jellydator/ttlcache/v3"
)

type ttlCache[K Key, V any] struct {
	c *ttlcache.Cache[K, V]
}

// newTTLCache turns off that a hit extends the TTL, which no other library does
// here.
func newTTLCache[K Key, V any](c Config[K, V]) Cache[K, V] {
	options := []ttlcache.Option[K, V]{
		ttlcache.WithCapacity[K, V](uint64(c.Capacity)),
		ttlcache.WithTTL[K, V](c.TTL),
		ttlcache.WithDisableTouchOnHit[K, V](),
	}
	if c.Load != nil {
		load := ttlcache.LoaderFunc[K, V](func(t *ttlcache.Cache[K, V], key K) *ttlcache.Item[K, V] {
			value, err := c.Load(key)
			if err != nil {
				return nil
			}
			return t.Set(key, value, ttlcache.DefaultTTL)
		})
		options = append(options, ttlcache.WithLoader[K, V](ttlcache.NewSuppressedLoader[K, V](load, nil)))
	}
	t := ttlcache.New(options...)
	if c.TTL > 0 {
		go t.Start()
	}
	return ttlCache[K, V]{t}
}

func (t ttlCache[K, V]) Get(key K) (value V, ok bool) {
	item := t.c.Get(key)
	if item == nil {
		return value, false
	}
	return item.Value(), true
}

func (t ttlCache[K, V]) Set(key K, value V) { t.c.Set(key, value, ttlcache.DefaultTTL) }

func (t ttlCache[K, V]) SetTTL(key K, value V, ttl time.Duration) { t.c.Set(key, value, ttl) }

// Touch has no TTL to give: an entry keeps its own.
func (t ttlCache[K, V]) Touch(key K, _ time.Duration) { t.c.Touch(key) }

func (t ttlCache[K, V]) Take(key K) (V, error) {
	value, _ := t.Get(key)
	return value, nil
}

// Len asks the metrics, for ttlcache's own Len does not count what has expired.
func (t ttlCache[K, V]) Len() int {
	m := t.c.Metrics()
	return int(m.Insertions - m.Evictions)
}

func (t ttlCache[K, V]) Close() { t.c.Stop() }

package ttlcache

import (
	"github.com/pinwheel-cache/pinwheel/cache"
)

// cacheContains reports whether a key has a value, which is no use of it.
func cacheContains[K comparable, V any](c *cache.Cache[K, V], key K) bool {
	_, ok := c.Peek(key)
	return ok
}

// cacheKeys returns the keys, in no order.
func cacheKeys[K comparable, V any](c *cache.Cache[K, V]) []K {
	keys := make([]K, 0, c.Len())
	for key := range c.All() {
		keys = append(keys, key)
	}
	return keys
}

package sturdyc

import (
	"github.com/pinwheel-cache/pinwheel/cache"
)

// cacheKeys returns the keys, in no order.
func cacheKeys[K comparable, V any](c *cache.Cache[K, V]) []K {
	keys := make([]K, 0, c.Len())
	for key := range c.All() {
		keys = append(keys, key)
	}
	return keys
}

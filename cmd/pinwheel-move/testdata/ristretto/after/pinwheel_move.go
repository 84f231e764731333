package ristretto

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// cacheSetWithTTL stores a value for d; 0 is for ever, and less stores nothing.
func cacheSetWithTTL[K comparable, V any](c *cache.Cache[K, V], key K, value V, d time.Duration) {
	if d >= 0 {
		c.SetWithExpire(key, value, d)
	}
}

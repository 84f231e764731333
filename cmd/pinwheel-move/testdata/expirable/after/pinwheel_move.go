package expirable

import (
	pinwheel "github.com/pinwheel-cache/pinwheel/cache"
)

// cacheContains reports whether a key has a value, which is no use of it.
func cacheContains[K comparable, V any](c *pinwheel.Cache[K, V], key K) bool {
	_, ok := c.Peek(key)
	return ok
}

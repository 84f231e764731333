package golanglru

import (
	"errors"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// cacheContains reports whether a key has a value, which is no use of it.
func cacheContains[K comparable, V any](c *cache.Cache[K, V], key K) bool {
	_, ok := c.Peek(key)
	return ok
}

// cacheOfSize returns a cache for size entries, and refuses 0, which is no limit otherwise.
func cacheOfSize[K comparable, V any](size int) (*cache.Cache[K, V], error) {
	if size <= 0 {
		return nil, errors.New("must provide a positive size")
	}
	return cache.New(cache.Options[K, V]{Limit: size})
}

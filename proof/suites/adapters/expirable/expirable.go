// Package expirable has the names of github.com/hashicorp/golang-lru/v2/expirable on top
// of package cache.
package expirable

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/proof/suites/adapters/lru"
)

// An LRU is a cache with a TTL.
type LRU[K comparable, V any] struct{ *lru.Cache[K, V] }

// NewLRU makes a cache, without a limit if size is not positive.
func NewLRU[K comparable, V any](size int, onEvicted func(K, V), ttl time.Duration) *LRU[K, V] {
	c, err := lru.NewWithExpire(max(size, 0), onEvicted, max(ttl, 0))
	if err != nil {
		panic(err)
	}
	return &LRU[K, V]{c}
}

// deleteExpired does nothing: the timing wheel removes what has expired.
//
//lint:ignore U1000 the tests of the original call it
func (c *LRU[K, V]) deleteExpired() {}

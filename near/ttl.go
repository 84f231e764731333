package near

import (
	"math"
	"math/rand/v2"
	"time"
)

// ttl returns a TTL with jitter.
func (c *Cache[K, V]) ttl(ttl time.Duration) time.Duration {
	if ttl == 0 || c.jitter == 0 {
		return ttl
	}
	return max(duration(float64(ttl)*(1+c.jitter*(2*rand.Float64()-1))), time.Millisecond)
}

// localTTL returns the TTL in memory, before jitter, of an item that has the TTL inStore in
// the store: at most local, and never longer than in the store. 0 means for ever in all
// three. The reading of the item began at began. The result is negative if the item has
// expired since.
func (c *Cache[K, V]) localTTL(local, inStore time.Duration, began time.Time) time.Duration {
	if inStore == 0 {
		return local
	}
	left := duration((float64(inStore) - float64(time.Since(began))) / (1 + c.jitter))
	switch {
	case left == 0:
		return -1
	case local == 0:
		return left
	}
	return min(local, left)
}

// duration returns a number of nanoseconds as a Duration: at least 0, at most the longest.
func duration(ns float64) time.Duration {
	if ns >= math.MaxInt64 { // what is converted must fit
		return math.MaxInt64
	}
	return time.Duration(max(ns, 0))
}

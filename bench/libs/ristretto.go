package libs

import (
	"time"

	"github.com/dgraph-io/ristretto/v2"
)

type ristrettoCache[K Key, V any] struct {
	*ristretto.Cache[K, V]
	ttl time.Duration
}

// newRistretto lets every entry cost 1, so that the capacity is in entries, and
// has the numbers of counters and of buffered items that ristretto advises.
func newRistretto[K Key, V any](c Config[K, V]) Cache[K, V] {
	r, err := ristretto.NewCache(&ristretto.Config[K, V]{
		NumCounters:        10 * int64(c.Capacity),
		MaxCost:            int64(c.Capacity),
		BufferItems:        64,
		IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err)
	}
	return ristrettoCache[K, V]{r, c.TTL}
}

func (r ristrettoCache[K, V]) Set(key K, value V) { r.SetWithTTL(key, value, 1, r.ttl) }

func (r ristrettoCache[K, V]) SetTTL(key K, value V, ttl time.Duration) {
	r.SetWithTTL(key, value, 1, ttl)
}

func (r ristrettoCache[K, V]) Len() int { return int(r.MaxCost() - r.RemainingCost()) }

func (r ristrettoCache[K, V]) Settle() { r.Wait() }

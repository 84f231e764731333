package libs

import (
	"hash/maphash"
	"time"

	freelru "github.com/elastic/go-freelru"
)

type freeLRU[K Key, V any] struct {
	*freelru.ShardedLRU[K, V]
	ttl time.Duration
}

// newFreeLRU gives freelru, which has no hash function of its own, the one of
// the runtime.
func newFreeLRU[K Key, V any](c Config[K, V]) Cache[K, V] {
	seed := maphash.MakeSeed()
	l, err := freelru.NewSharded[K, V](uint32(c.Capacity), func(key K) uint32 {
		return uint32(maphash.Comparable(seed, key))
	})
	if err != nil {
		panic(err)
	}
	return freeLRU[K, V]{l, c.TTL}
}

func (f freeLRU[K, V]) Set(key K, value V) { f.AddWithLifetime(key, value, f.ttl) }

func (f freeLRU[K, V]) SetTTL(key K, value V, ttl time.Duration) {
	f.AddWithLifetime(key, value, ttl)
}

func (f freeLRU[K, V]) Touch(key K, ttl time.Duration) { f.GetAndRefresh(key, ttl) }

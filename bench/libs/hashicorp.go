package libs

import (
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/expirable"
)

type hashicorp[K Key, V any] struct{ *lru.Cache[K, V] }

func newHashicorp[K Key, V any](c Config[K, V]) Cache[K, V] {
	if c.TTL > 0 {
		return nil
	}
	l, err := lru.New[K, V](c.Capacity)
	if err != nil {
		panic(err)
	}
	return hashicorp[K, V]{l}
}

func (h hashicorp[K, V]) Set(key K, value V) { h.Add(key, value) }

type hashicorpExpirable[K Key, V any] struct{ *expirable.LRU[K, V] }

func newExpirable[K Key, V any](c Config[K, V]) Cache[K, V] {
	if c.TTL == 0 {
		return nil
	}
	return hashicorpExpirable[K, V]{expirable.NewLRU[K, V](c.Capacity, nil, c.TTL)}
}

func (h hashicorpExpirable[K, V]) Set(key K, value V) { h.Add(key, value) }

// Close gives the entries back: the goroutine of an expirable cache never ends
// and holds the rest.
func (h hashicorpExpirable[K, V]) Close() { h.Purge() }

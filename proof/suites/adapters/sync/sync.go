// Package sync has the names of packages sync and internal/sync that their tests of maps
// use. The maps are caches without a limit.
package sync

import (
	"sync"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type (
	Mutex     = sync.Mutex
	RWMutex   = sync.RWMutex
	WaitGroup = sync.WaitGroup
)

// A Map is sync.Map: as there, a map of package internal/sync whose keys and values have
// type any.
type Map struct{ HashTrieMap[any, any] }

// A HashTrieMap is a cache that its first use makes.
type HashTrieMap[K comparable, V any] struct {
	once  sync.Once
	cache *cache.Cache[K, V]
}

// NewBadHashTrieMap stands for a map whose hashes are all the same. A cache chooses its
// hash itself.
func NewBadHashTrieMap[K, V comparable]() *HashTrieMap[K, V] { return new(HashTrieMap[K, V]) }

// NewTruncHashTrieMap is NewBadHashTrieMap for hashes that are nearly the same.
func NewTruncHashTrieMap[K, V comparable]() *HashTrieMap[K, V] { return new(HashTrieMap[K, V]) }

func (m *HashTrieMap[K, V]) made() *cache.Cache[K, V] {
	m.once.Do(func() { m.cache = cache.Must(cache.Options[K, V]{Name: "map"}) })
	return m.cache
}

func (m *HashTrieMap[K, V]) Load(key K) (value V, ok bool) { return m.made().Get(key) }
func (m *HashTrieMap[K, V]) Store(key K, value V)          { m.made().Set(key, value) }
func (m *HashTrieMap[K, V]) Delete(key K)                  { m.made().Del(key) }
func (m *HashTrieMap[K, V]) Clear()                        { m.made().Clear() }

func (m *HashTrieMap[K, V]) LoadOrStore(key K, value V) (actual V, loaded bool) {
	return m.made().GetOrSet(key, value)
}

func (m *HashTrieMap[K, V]) LoadAndDelete(key K) (value V, loaded bool) {
	m.made().Compute(key, func(old V, found bool) (V, cache.Op) {
		value, loaded = old, found
		return old, cache.OpDelete
	})
	return value, loaded
}

func (m *HashTrieMap[K, V]) Swap(key K, value V) (previous V, loaded bool) {
	m.made().Compute(key, func(old V, found bool) (V, cache.Op) {
		previous, loaded = old, found
		return value, cache.OpSet
	})
	return previous, loaded
}

func (m *HashTrieMap[K, V]) CompareAndSwap(key K, old, new V) (swapped bool) {
	m.made().Compute(key, func(current V, found bool) (V, cache.Op) {
		if swapped = found && any(current) == any(old); swapped {
			return new, cache.OpSet
		}
		return current, cache.OpKeep
	})
	return swapped
}

func (m *HashTrieMap[K, V]) CompareAndDelete(key K, old V) (deleted bool) {
	m.made().Compute(key, func(current V, found bool) (V, cache.Op) {
		if deleted = found && any(current) == any(old); deleted {
			return current, cache.OpDelete
		}
		return current, cache.OpKeep
	})
	return deleted
}

func (m *HashTrieMap[K, V]) All() func(yield func(K, V) bool) { return m.made().All() }

func (m *HashTrieMap[K, V]) Range(yield func(K, V) bool) { m.made().All()(yield) }

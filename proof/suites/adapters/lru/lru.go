// Package lru has the names of github.com/hashicorp/golang-lru on top of package cache.
//
// It adds the order of the entries, which a cache does not report: each has the number of
// its last use. The cache decides what is evicted.
package lru

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/proof/suites/adapters/calls"
)

type Cache[K comparable, V any] struct {
	cache *cache.Cache[K, *entry[V]]
	calls *calls.Count
	uses  atomic.Uint64
}

type entry[V any] struct {
	value V
	used  atomic.Uint64
}

func New[K comparable, V any](size int) (*Cache[K, V], error) {
	return NewWithEvict[K, V](size, nil)
}

func NewWithEvict[K comparable, V any](size int, onEvicted func(K, V)) (*Cache[K, V], error) {
	if size <= 0 {
		return nil, errors.New("must provide a positive size")
	}
	return NewWithExpire(size, onEvicted, 0)
}

// NewWithExpire is NewWithEvict with a TTL, and without a limit if size is 0.
func NewWithExpire[K comparable, V any](size int, onEvicted func(K, V), ttl time.Duration) (*Cache[K, V], error) {
	c := &Cache[K, V]{calls: calls.New()}
	var err error
	c.cache, err = cache.New(cache.Options[K, *entry[V]]{
		Limit:   size,
		Expire:  ttl,
		Workers: 1, // onEvicted is called by one goroutine at a time
		OnRemove: func(e cache.Event[K, *entry[V]]) {
			defer c.calls.End()
			if onEvicted != nil && e.Cause != cache.Replaced {
				onEvicted(e.Key, e.Value.value)
			}
		},
	})
	return c, err
}

// settle waits for the calls of onEvicted, and returns how many entries have been evicted.
func (c *Cache[K, V]) settle() (evicted uint64) {
	s := c.cache.Stats()
	c.calls.Wait(s)
	return s.Removals.Evicted
}

func (c *Cache[K, V]) use(e *entry[V]) *entry[V] {
	e.used.Store(c.uses.Add(1))
	return e
}

func (c *Cache[K, V]) Add(key K, value V) (evicted bool) {
	before := c.settle()
	c.cache.Set(key, c.use(&entry[V]{value: value}))
	return c.settle() > before
}

func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e, ok := c.cache.Get(key)
	if ok {
		value = c.use(e).value
	}
	return value, ok
}

func (c *Cache[K, V]) Peek(key K) (value V, ok bool) {
	e, ok := c.cache.Peek(key)
	if ok {
		value = e.value
	}
	return value, ok
}

func (c *Cache[K, V]) Contains(key K) bool {
	_, ok := c.cache.Peek(key)
	return ok
}

// ContainsOrAdd looks, and then adds: GetOrSet is one step, but counts as a use.
func (c *Cache[K, V]) ContainsOrAdd(key K, value V) (ok, evicted bool) {
	_, ok, evicted = c.PeekOrAdd(key, value)
	return ok, evicted
}

// PeekOrAdd is ContainsOrAdd that also returns the value.
func (c *Cache[K, V]) PeekOrAdd(key K, value V) (previous V, ok, evicted bool) {
	if previous, ok = c.Peek(key); !ok {
		evicted = c.Add(key, value)
	}
	return previous, ok, evicted
}

func (c *Cache[K, V]) Remove(key K) (present bool) {
	defer c.settle()
	return c.cache.Del(key)
}

func (c *Cache[K, V]) Len() int {
	c.settle()
	return c.cache.Len()
}

func (c *Cache[K, V]) Purge() {
	c.cache.Clear()
	c.settle()
}

func (c *Cache[K, V]) Resize(size int) (evicted int) {
	before := c.settle()
	if err := c.cache.Resize(size); err != nil {
		panic(err)
	}
	return int(c.settle() - before)
}

// Keys returns the keys, the one used longest ago first.
func (c *Cache[K, V]) Keys() []K {
	entries := map[K]uint64{}
	keys := []K{}
	for k, e := range c.cache.All() {
		entries[k] = e.used.Load()
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int { return int(entries[a]) - int(entries[b]) })
	return keys
}

// Values returns the values in the order of Keys.
func (c *Cache[K, V]) Values() []V {
	values := []V{}
	for _, k := range c.Keys() {
		if v, ok := c.Peek(k); ok {
			values = append(values, v)
		}
	}
	return values
}

// GetOldest returns the entry used longest ago.
func (c *Cache[K, V]) GetOldest() (key K, value V, ok bool) {
	for _, k := range c.Keys() {
		if v, ok := c.Peek(k); ok {
			return k, v, true
		}
	}
	return key, value, false
}

func (c *Cache[K, V]) RemoveOldest() (key K, value V, ok bool) {
	if key, value, ok = c.GetOldest(); ok {
		c.Remove(key)
	}
	return key, value, ok
}

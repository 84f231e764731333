package libs

import (
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// newMap returns what programs write before they use a cache: a map under a lock, which grows
// without limit.
func newMap[K Key, V any](c Config[K, V]) Cache[K, V] {
	return &deadlineMap[K, V]{m: make(map[K]mortal[V]), ttl: c.TTL}
}

// A deadlineMap does not return expired values, but keeps them.
type deadlineMap[K Key, V any] struct {
	mu  sync.RWMutex
	m   map[K]mortal[V]
	ttl time.Duration
}

type mortal[V any] struct {
	value    V
	deadline int64 // in Unix nanoseconds
}

func (d *deadlineMap[K, V]) Get(key K) (value V, ok bool) {
	d.mu.RLock()
	e, ok := d.m[key]
	d.mu.RUnlock()
	if !ok || time.Now().UnixNano() >= e.deadline {
		return value, false
	}
	return e.value, true
}

func (d *deadlineMap[K, V]) Set(key K, value V) { d.SetTTL(key, value, d.ttl) }

func (d *deadlineMap[K, V]) SetTTL(key K, value V, ttl time.Duration) {
	e := mortal[V]{value, time.Now().Add(ttl).UnixNano()}
	d.mu.Lock()
	d.m[key] = e
	d.mu.Unlock()
}

func (d *deadlineMap[K, V]) Touch(key K, ttl time.Duration) {
	deadline := time.Now().Add(ttl).UnixNano()
	d.mu.Lock()
	if e, ok := d.m[key]; ok {
		e.deadline = deadline
		d.m[key] = e
	}
	d.mu.Unlock()
}

func (d *deadlineMap[K, V]) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.m)
}

// newMapString is newMap, with a singleflight.Group if the case loads.
func newMapString(c Config[string, *uint64]) Cache[string, *uint64] {
	if c.Load == nil {
		return newMap(c)
	}
	return &loadingMap{Cache: newMap(c), load: c.Load}
}

type loadingMap struct {
	Cache[string, *uint64]
	load  func(string) (*uint64, error)
	group singleflight.Group
}

func (l *loadingMap) Take(key string) (*uint64, error) {
	if value, ok := l.Get(key); ok {
		return value, nil
	}
	value, err, _ := l.group.Do(key, func() (any, error) {
		value, err := l.load(key)
		if err == nil {
			l.Set(key, value)
		}
		return value, err
	})
	return value.(*uint64), err
}

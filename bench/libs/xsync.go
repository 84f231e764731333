package libs

import (
	"github.com/puzpuzpuz/xsync/v4"
)

type xsyncMap[K Key, V any] struct{ *xsync.Map[K, V] }

func newXsync[K Key, V any](c Config[K, V]) Cache[K, V] {
	if c.TTL > 0 {
		return nil
	}
	return xsyncMap[K, V]{xsync.NewMap[K, V]()}
}

func (x xsyncMap[K, V]) Get(key K) (V, bool) { return x.Load(key) }

func (x xsyncMap[K, V]) Set(key K, value V) { x.Store(key, value) }

func (x xsyncMap[K, V]) Len() int { return x.Size() }

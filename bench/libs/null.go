package libs

import (
	"time"
)

// null does nothing: it shows the cost of the benchmark itself.
type null[K Key, V any] struct {
	load func(K) (V, error)
}

func newNull[K Key, V any](c Config[K, V]) Cache[K, V] { return null[K, V]{c.Load} }

func (null[K, V]) Get(K) (value V, ok bool) { return value, false }

func (null[K, V]) Set(K, V) {}

func (null[K, V]) SetTTL(K, V, time.Duration) {}

func (null[K, V]) Touch(K, time.Duration) {}

func (n null[K, V]) Take(key K) (V, error) { return n.load(key) }

// Package counters has benchmarks of Compute as a counter, beside a Set and a map with a mutex.
package counters

import (
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

const keys = 1024

// A counter adds one to what a key has.
type counter struct {
	name string
	make func() (add func(key uint64))
}

var options = cache.Options[uint64, int]{Limit: 2 * keys, Expire: time.Hour}

var counters = []counter{
	{"Set", func() func(uint64) {
		c := cache.Must(options)
		return func(key uint64) { c.Set(key, 1) }
	}},
	{"Compute", func() func(uint64) {
		c := cache.Must(options)
		return func(key uint64) {
			c.Compute(key, func(n int, _ bool) (int, cache.Op) { return n + 1, cache.OpSet })
		}
	}},
	{"Compute that adds what it is told", func() func(uint64) {
		c := cache.Must(options)
		return func(key uint64) {
			by := int(key&1) + 1
			c.Compute(key, func(n int, _ bool) (int, cache.Op) { return n + by, cache.OpSet })
		}
	}},
	{"Compute that keeps", func() func(uint64) {
		c := cache.Must(options)
		return func(key uint64) {
			c.Compute(key, func(n int, _ bool) (int, cache.Op) { return n, cache.OpKeep })
		}
	}},
	{"map and mutex", func() func(uint64) {
		var mu sync.Mutex
		m := map[uint64]int{}
		return func(key uint64) {
			mu.Lock()
			m[key]++
			mu.Unlock()
		}
	}},
}

// BenchmarkPresent counts keys that are there.
func BenchmarkPresent(b *testing.B) {
	for _, c := range counters {
		b.Run(c.name, func(b *testing.B) {
			add := c.make()
			for key := range uint64(keys) {
				add(key)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				add(uint64(i) % keys)
			}
		})
	}
}

// BenchmarkOneKey counts one key, by all processors at once.
func BenchmarkOneKey(b *testing.B) {
	for _, c := range counters {
		b.Run(c.name, func(b *testing.B) {
			add := c.make()
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					add(1)
				}
			})
		})
	}
}

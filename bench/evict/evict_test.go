// Package evict measures a full cache in which every Set evicts.
package evict

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
	"github.com/pinwheel-cache/pinwheel/cache"
)

// turnovers is how often all entries are replaced before the measurement: a cache that was
// only filled is in better order than a used one.
const turnovers = 5

var (
	policies = map[string]cache.Policy{"LRU": cache.LRU, "Adaptive": cache.Adaptive}
	sizes    = []int{100_000, 1_000_000} // a small one with -short, to test that the benchmarks work
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		sizes = []int{10_000}
	}
	os.Exit(m.Run())
}

func integer(i uint64) uint64 { return i * 0x9E3779B97F4A7C15 }
func text(i uint64) string    { return "key:" + strconv.FormatUint(integer(i), 36) }

// A churned is a full cache, and the number of keys stored so far.
type churned[K comparable] struct {
	*cache.Cache[K, uint64]
	key  func(i uint64) K
	sets uint64
	ring []K // the next keys, made before they are needed
}

func churn[K comparable](size int, p cache.Policy, key func(uint64) K) *churned[K] {
	c := &churned[K]{
		Cache: cache.Must(cache.Options[K, uint64]{Limit: size, Expire: time.Hour, Policy: p}),
		key:   key,
		ring:  make([]K, 1<<16),
	}
	for range turnovers * size / len(c.ring) {
		c.prepare()
		c.set(len(c.ring))
	}
	return c
}

func (c *churned[K]) prepare() {
	for i := range c.ring {
		c.ring[i] = c.key(c.sets + uint64(i))
	}
}

func (c *churned[K]) set(n int) {
	for _, key := range c.ring[:n] {
		c.Set(key, c.sets)
		c.sets++
	}
}

// BenchmarkSet stores new keys. cpu-ns/op is processor time, which other programs disturb
// less.
func BenchmarkSet(b *testing.B) {
	for _, size := range sizes {
		for name, p := range policies {
			benchSet(b, fmt.Sprintf("uint64/%d/%s", size, name), size, p, integer)
			benchSet(b, fmt.Sprintf("string/%d/%s", size, name), size, p, text)
		}
	}
}

func benchSet[K comparable](b *testing.B, name string, size int, p cache.Policy, key func(uint64) K) {
	made := sync.OnceValue(func() *churned[K] { return churn(size, p, key) })
	b.Run(name, func(b *testing.B) {
		c := made()
		measured(b, func() {
			for left := b.N; left > 0; left -= len(c.ring) {
				b.StopTimer()
				paused(c.prepare)
				b.StartTimer()
				c.set(min(left, len(c.ring)))
			}
		})
	})
}

// BenchmarkGet reads present keys and absent keys.
func BenchmarkGet(b *testing.B) {
	for _, size := range sizes {
		made := sync.OnceValue(func() *churned[uint64] { return churn(size, cache.LRU, integer) })
		for _, name := range []string{"hit", "miss"} {
			b.Run(fmt.Sprintf("uint64/%d/%s", size, name), func(b *testing.B) {
				c := made()
				for i := range c.ring {
					if c.ring[i] = c.key(c.sets + uint64(i)); name == "hit" {
						c.ring[i] = c.key(c.sets - 1 - rand.Uint64N(uint64(size)))
					}
				}
				measured(b, func() {
					for i := range b.N {
						c.Get(c.ring[i%len(c.ring)])
					}
				})
			})
		}
	}
}

// pauses is processor time that does not count.
var pauses time.Duration

func paused(f func()) {
	start := cputime.Used()
	f()
	pauses += cputime.Used() - start
}

func measured(b *testing.B, f func()) {
	b.ResetTimer()
	start := cputime.Used() - pauses
	f()
	b.ReportMetric(float64(cputime.Used()-pauses-start)/float64(b.N), "cpu-ns/op")
}

// Package options has benchmarks of what options add to reads and writes, and of what each
// further type of cache adds to a program.
package options

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

const limit = 10_000

// A key is of one of the kinds that are hashed and compared in different ways.
type key interface{ uint64 | string }

func number(n int) uint64 { return uint64(n) }
func text(n int) string   { return fmt.Sprintf("user:profile:%07d", n) }

// observers returns the options that observe a cache, by name, and first none of them.
func observers[K key]() map[string]cache.Options[K, uint64] {
	return map[string]cache.Options[K, uint64]{
		"none":     {},
		"HotKeys":  {HotKeys: 10},
		"WhatIf":   {WhatIf: true},
		"Ages":     {Ages: true},
		"OnRemove": {OnRemove: func(cache.Event[K, uint64]) {}},
	}
}

// each runs a benchmark with no option and with each of those named, over keys of each kind.
func each(b *testing.B, numbers func(*testing.B, *cache.Cache[uint64, uint64], []uint64), texts func(*testing.B, *cache.Cache[string, uint64], []string), names ...string) {
	for _, name := range append([]string{"none"}, names...) {
		b.Run("uint64/"+name, func(b *testing.B) { with(b, observers[uint64]()[name], number, numbers) })
		b.Run("string/"+name, func(b *testing.B) { with(b, observers[string]()[name], text, texts) })
	}
}

// with runs a benchmark with a full cache, the keys that it has, and as many that it lacks. Calls
// of OnRemove count.
func with[K key](b *testing.B, o cache.Options[K, uint64], name func(int) K, run func(b *testing.B, c *cache.Cache[K, uint64], keys []K)) {
	o.Limit, o.Expire = limit, time.Hour
	c := cache.Must(o)
	defer func() { _ = c.Close(context.Background()) }()
	keys := make([]K, 2*limit)
	for n := range keys {
		if keys[n] = name(n); n < limit {
			c.Set(keys[n], uint64(n))
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	run(b, c, keys)
	_ = c.Wait(context.Background())
}

// get first reads as many keys as HotKeys counts before it has its sample of one in 32.
func get[K key](b *testing.B, c *cache.Cache[K, uint64], keys []K) {
	for n := range 150_000 {
		c.Get(keys[n%limit])
	}
	b.ResetTimer()
	for n := range b.N {
		if _, ok := c.Get(keys[n%limit]); !ok {
			b.Fatalf("%v is not in the cache", keys[n%limit])
		}
	}
}

func setLive[K key](b *testing.B, c *cache.Cache[K, uint64], keys []K) {
	for n := range b.N {
		c.Set(keys[n%limit], uint64(n))
	}
}

func setNew[K key](b *testing.B, c *cache.Cache[K, uint64], keys []K) {
	for n := range b.N {
		c.Set(keys[(limit+n)%len(keys)], uint64(n))
	}
}

// BenchmarkGet reads keys that the cache has.
func BenchmarkGet(b *testing.B) { each(b, get[uint64], get[string], "HotKeys", "WhatIf") }

// BenchmarkSetLive stores keys that the cache has.
func BenchmarkSetLive(b *testing.B) {
	each(b, setLive[uint64], setLive[string], "WhatIf", "Ages", "OnRemove")
}

// BenchmarkSetNew stores keys that a full cache lacks: each Set evicts.
func BenchmarkSetNew(b *testing.B) {
	each(b, setNew[uint64], setNew[string], "WhatIf", "Ages", "OnRemove")
}

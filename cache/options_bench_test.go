package cache_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// BenchmarkOptions shows what options that watch a cache cost, beside none of them. From outside:
// see inline.go.
//
//	go test -run '^$' -bench Options -count 6 ./cache
func BenchmarkOptions(b *testing.B) {
	const limit, mask = 100_000, 1<<16 - 1
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.01, 1, limit-1)
	var hot, live [mask + 1]uint64
	for i := range hot {
		hot[i], live[i] = zipf.Uint64(), rand.Uint64N(limit)
	}
	operations := map[string]func(c *cache.Cache[uint64, uint64], i int){
		"Get":             func(c *cache.Cache[uint64, uint64], i int) { c.Get(hot[i&mask]) },
		"Set of a live":   func(c *cache.Cache[uint64, uint64], i int) { c.Set(live[i&mask], 1) },
		"Set that evicts": func(c *cache.Cache[uint64, uint64], i int) { c.Set(limit+uint64(i), 1) },
	}
	for _, option := range []struct {
		name string
		set  func(o *cache.Options[uint64, uint64])
	}{
		{"none", func(*cache.Options[uint64, uint64]) {}},
		{"HotKeys", func(o *cache.Options[uint64, uint64]) { o.HotKeys = 10 }},
		{"WhatIf", func(o *cache.Options[uint64, uint64]) { o.WhatIf = true }},
		{"Ages", func(o *cache.Options[uint64, uint64]) { o.Ages = true }},
		{"OnRemove", func(o *cache.Options[uint64, uint64]) { o.OnRemove = func(cache.Event[uint64, uint64]) {} }},
	} {
		for name, operation := range operations {
			b.Run(name+"/"+option.name, func(b *testing.B) {
				o := cache.Options[uint64, uint64]{Limit: limit, Expire: time.Hour}
				option.set(&o)
				c := cache.Must(o)
				for k := range uint64(limit) {
					c.Set(k, k)
				}
				i := 0
				for b.Loop() {
					operation(c, i)
					i++
				}
				_ = c.Close(b.Context())
			})
		}
	}
}

package cache_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

type options = cache.Options[uint64, int]

// TestEstimatesOfSmallCachesAreExact compares the estimates of a cache whose keys are all
// in the sample, and do not expire, with caches of half and of double the limit that are
// used in the same way. The estimate for the other policy is not exact: Adaptive sometimes
// takes one key for another.
func TestEstimatesOfSmallCachesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		real := cache.Must(options{Limit: limit, WhatIf: true})
		caches := []*cache.Cache[uint64, int]{real, cache.Must(options{Limit: 2 * limit})}
		if limit > 1 {
			caches = append(caches, cache.Must(options{Limit: limit / 2}))
		}
		key := rapid.Uint64Range(0, 60)
		all := func(f func(c *cache.Cache[uint64, int])) {
			for _, c := range caches {
				f(c)
			}
		}
		load := func(c *cache.Cache[uint64, int], k uint64) {
			if _, ok := c.Get(k); !ok {
				c.Set(k, 0)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"load": func(t *rapid.T) {
				k := key.Draw(t, "k")
				all(func(c *cache.Cache[uint64, int]) { load(c, k) })
			},
			"load many": func(t *rapid.T) {
				seed := rapid.Uint64().Draw(t, "seed")
				all(func(c *cache.Cache[uint64, int]) {
					r := rand.New(rand.NewPCG(seed, 0))
					for range 100 {
						load(c, uint64(min(r.ExpFloat64()*15, 60)))
					}
				})
			},
			"Take": func(t *rapid.T) {
				k := key.Draw(t, "k")
				all(func(c *cache.Cache[uint64, int]) { _, _ = c.Take(k, func() (int, error) { return 0, nil }) })
			},
			"GetOrSet": func(t *rapid.T) {
				k := key.Draw(t, "k")
				all(func(c *cache.Cache[uint64, int]) { c.GetOrSet(k, 0) })
			},
			"Set": func(t *rapid.T) {
				k := key.Draw(t, "k")
				all(func(c *cache.Cache[uint64, int]) { c.Set(k, 0) })
			},
			"Compute": func(t *rapid.T) {
				k, op := key.Draw(t, "k"), cache.Op(rapid.IntRange(0, 2).Draw(t, "op"))
				all(func(c *cache.Cache[uint64, int]) { c.Compute(k, func(int, bool) (int, cache.Op) { return 0, op }) })
			},
			"Touch": func(t *rapid.T) {
				k := key.Draw(t, "k")
				all(func(c *cache.Cache[uint64, int]) { c.Touch(k, 0) })
			},
			"Del": func(t *rapid.T) {
				k := key.Draw(t, "k")
				all(func(c *cache.Cache[uint64, int]) { c.Del(k) })
			},
			"Peek":  func(t *rapid.T) { k := key.Draw(t, "k"); real.Peek(k) },
			"Clear": func(*rapid.T) { all((*cache.Cache[uint64, int]).Clear) },
			"": func(t *rapid.T) {
				s := real.Stats()
				want := stats.WhatIf{Gets: s.Gets(), Same: s.Hits, Double: caches[1].Stats().Hits, OtherPolicy: s.WhatIf.OtherPolicy}
				if limit > 1 {
					want.Half = caches[2].Stats().Hits
				}
				if s.WhatIf != want {
					t.Fatalf("limit %d: %+v, want %+v", limit, s.WhatIf, want)
				}
			},
		})
	})
}

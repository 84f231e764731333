package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/phuslu/lru"

	"github.com/pinwheel-cache/pinwheel/cache"
)

const ttl = time.Hour

// request is the context of a request, which can end.
var request, _ = context.WithCancel(context.Background())

var cells = []cell{
	{"load by a request", []contender{
		pinwheel(100_000, ttl, nil, newKeys, func(c *ours, key uint64) { c.TakeCtx(request, key, load) }),
		otters(100_000, ttl, 0, newKeys, func(c *otter.Cache[uint64, uint64], key uint64) { c.Get(request, key, otterLoad) }),
		phuslu(100_000, newKeys, func(c *lru.TTLCache[uint64, uint64], key uint64) { c.GetOrLoad(request, key, phusluLoad) }),
	}},
	{"load by Take", []contender{
		pinwheel(100_000, ttl, nil, newKeys, func(c *ours, key uint64) { c.Take(key, func() (uint64, error) { return 1, nil }) }),
		otters(100_000, ttl, 0, newKeys, func(c *otter.Cache[uint64, uint64], key uint64) { c.Get(request, key, otterLoad) }),
		phuslu(100_000, newKeys, func(c *lru.TTLCache[uint64, uint64], key uint64) { c.GetOrLoad(request, key, phusluLoad) }),
	}},
	{"hit by a request", []contender{
		pinwheel(200_000, ttl, nil, sameKeys, func(c *ours, key uint64) { c.TakeCtx(request, key, load) }),
		pinwheel(200_000, ttl, nil, sameKeys, func(c *ours, key uint64) { c.Get(key) }).as("pinwheel Get"),
		otters(200_000, ttl, 0, sameKeys, func(c *otter.Cache[uint64, uint64], key uint64) { c.Get(request, key, otterLoad) }),
		phuslu(200_000, sameKeys, func(c *lru.TTLCache[uint64, uint64], key uint64) { c.GetOrLoad(request, key, phusluLoad) }),
	}},
	{"hit by a request, with Refresh and Grace", []contender{
		pinwheel(200_000, ttl, renewed, sameKeys, func(c *ours, key uint64) { c.TakeCtx(request, key, load) }),
		pinwheel(200_000, ttl, nil, sameKeys, func(c *ours, key uint64) { c.Get(key) }).as("pinwheel Get"),
		otters(200_000, ttl, 48*time.Minute, sameKeys, func(c *otter.Cache[uint64, uint64], key uint64) { c.Get(request, key, otterLoad) }),
		phuslu(200_000, sameKeys, func(c *lru.TTLCache[uint64, uint64], key uint64) { c.GetOrLoad(request, key, phusluLoad) }),
	}},
	{"evicting Set, limit 1,000", []contender{
		pinwheel(1000, ttl, nil, newKeys, func(c *ours, key uint64) { c.Set(key, 1) }),
		otters(1000, ttl, 0, newKeys, func(c *otter.Cache[uint64, uint64], key uint64) { c.Set(key, 1) }),
		phuslu(1000, newKeys, func(c *lru.TTLCache[uint64, uint64], key uint64) { c.Set(key, 1, ttl) }),
	}},
	{"evicting Set, limit 100,000", []contender{
		pinwheel(100_000, ttl, nil, newKeys, func(c *ours, key uint64) { c.Set(key, 1) }),
		pinwheel(100_000, ttl, adaptive, newKeys, func(c *ours, key uint64) { c.Set(key, 1) }).as("pinwheel Adaptive"),
		otters(100_000, ttl, 0, newKeys, func(c *otter.Cache[uint64, uint64], key uint64) { c.Set(key, 1) }),
		phuslu(100_000, newKeys, func(c *lru.TTLCache[uint64, uint64], key uint64) { c.Set(key, 1, ttl) }),
	}},
	{"evicting Set without TTL, limit 100,000", []contender{
		pinwheel(100_000, 0, nil, newKeys, func(c *ours, key uint64) { c.Set(key, 1) }),
		phusluLRU(100_000, newKeys, func(c *lru.LRUCache[uint64, uint64], key uint64) { c.Set(key, 1) }),
	}},
	{"evicting Set without TTL, limit 1,000,000", []contender{
		pinwheel(1_000_000, 0, nil, newKeys, func(c *ours, key uint64) { c.Set(key, 1) }),
		phusluLRU(1_000_000, newKeys, func(c *lru.LRUCache[uint64, uint64], key uint64) { c.Set(key, 1) }),
	}},
	{"Del and Set", []contender{
		pinwheel(200_000, ttl, nil, sameKeys, func(c *ours, key uint64) { c.Del(key); c.Set(key, 1) }),
		otters(200_000, ttl, 0, sameKeys, func(c *otter.Cache[uint64, uint64], key uint64) { c.Invalidate(key); c.Set(key, 1) }),
		phuslu(200_000, sameKeys, func(c *lru.TTLCache[uint64, uint64], key uint64) { c.Delete(key); c.Set(key, 1, ttl) }),
	}},
	{"Touch, random TTLs", []contender{
		pinwheel(200_000, ttl, nil, sameKeys, func(c *ours, key uint64) { c.Touch(key, someTTL()) }),
		pinwheel(200_000, ttl, nil, sameKeys, func(c *ours, key uint64) { c.SetWithExpire(key, 1, someTTL()) }).as("pinwheel Set"),
	}},
	{"Compute", []contender{
		pinwheel(200_000, ttl, nil, sameKeys, func(c *ours, key uint64) {
			c.Compute(key, func(old uint64, ok bool) (uint64, cache.Op) { return old + 1, cache.OpSet })
		}),
		otters(200_000, ttl, 0, sameKeys, func(c *otter.Cache[uint64, uint64], key uint64) {
			c.Compute(key, func(old uint64, ok bool) (uint64, otter.ComputeOp) { return old + 1, otter.WriteOp })
		}),
	}},
}

type ours = cache.Cache[uint64, uint64]

func load(context.Context) (uint64, error) { return 1, nil }

var otterLoad = otter.LoaderFunc[uint64, uint64](func(context.Context, uint64) (uint64, error) { return 1, nil })

func phusluLoad(context.Context, uint64) (uint64, time.Duration, error) { return 1, ttl, nil }

func someTTL() time.Duration { return time.Minute + rand.N(time.Hour) }

func renewed(o *cache.Options[uint64, uint64]) { o.Refresh, o.Grace = 0.8, time.Hour }

func adaptive(o *cache.Options[uint64, uint64]) { o.Policy = cache.Adaptive }

func (c contender) as(name string) contender { c.name = name; return c }

// A keyer returns the keys to use, one after another, and those that the cache has at first. n is
// the limit of the cache.
type keyer func(n int) (next func() uint64, there int)

// newKeys are those that no cache has.
func newKeys(n int) (next func() uint64, there int) {
	key := uint64(n)
	return func() uint64 { key++; return key * 0x9e3779b97f4a7c15 }, n
}

// sameKeys are random ones of half as many keys as the limit.
func sameKeys(n int) (next func() uint64, there int) {
	of, r := uint64(n/2), rand.New(rand.NewPCG(1, 2))
	return func() uint64 { return (1 + r.Uint64N(of)) * 0x9e3779b97f4a7c15 }, n / 2
}

// contend returns a contender whose cache is filled by set.
func contend[C any](name string, n int, keys keyer, cache func() (c C, end func()), set, do func(C, uint64)) contender {
	return contender{name, func() (func(int), func()) {
		c, end := cache()
		next, there := keys(n)
		for i := range there {
			set(c, (1+uint64(i))*0x9e3779b97f4a7c15)
		}
		return func(n int) {
			for range n {
				do(c, next())
			}
		}, end
	}}
}

func pinwheel(n int, ttl time.Duration, amend func(*cache.Options[uint64, uint64]), keys keyer, do func(*ours, uint64)) contender {
	return contend("pinwheel", n, keys, func() (*ours, func()) {
		o := cache.Options[uint64, uint64]{Limit: n, Expire: ttl}
		if amend != nil {
			amend(&o)
		}
		c := cache.Must(o)
		return c, func() { _ = c.Close(context.Background()) }
	}, func(c *ours, key uint64) { c.Set(key, 1) }, do)
}

func otters(n int, ttl, due time.Duration, keys keyer, do func(*otter.Cache[uint64, uint64], uint64)) contender {
	return contend("otter", n, keys, func() (*otter.Cache[uint64, uint64], func()) {
		o := otter.Options[uint64, uint64]{MaximumSize: n, ExpiryCalculator: otter.ExpiryWriting[uint64, uint64](ttl)}
		if due > 0 {
			o.RefreshCalculator = otter.RefreshWriting[uint64, uint64](due)
		}
		c := otter.Must(&o)
		return c, func() { c.StopAllGoroutines() }
	}, func(c *otter.Cache[uint64, uint64], key uint64) { c.Set(key, 1) }, do)
}

func phuslu(n int, keys keyer, do func(*lru.TTLCache[uint64, uint64], uint64)) contender {
	return contend("phuslu", n, keys, func() (*lru.TTLCache[uint64, uint64], func()) { return lru.NewTTLCache[uint64, uint64](n), func() {} },
		func(c *lru.TTLCache[uint64, uint64], key uint64) { c.Set(key, 1, ttl) }, do)
}

func phusluLRU(n int, keys keyer, do func(*lru.LRUCache[uint64, uint64], uint64)) contender {
	return contend("phuslu", n, keys, func() (*lru.LRUCache[uint64, uint64], func()) { return lru.NewLRUCache[uint64, uint64](n), func() {} },
		func(c *lru.LRUCache[uint64, uint64], key uint64) { c.Set(key, 1) }, do)
}

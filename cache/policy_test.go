package cache

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
)

// knownHash makes runs with the same keys alike.
func knownHash(k uint64) uint64 {
	h := (k ^ k>>31) * 0x9E3779B97F4A7C15
	h = (h ^ h>>29) * 0xBF58476D1CE4E5B9
	return h ^ h>>32
}

// byPolicy returns a cache whose hash is known.
func byPolicy(p Policy, limit int) *Cache[uint64, uint64] {
	c := Must(Options[uint64, uint64]{Policy: p, Limit: limit})
	c.common.hasher = hash.FromFunc(knownHash)
	return c
}

// answer is what a program does with a cache of what can be worked out again.
func answer(c *Cache[uint64, uint64], key uint64) (hit bool) {
	_, hit = c.Get(key)
	if !hit {
		c.Set(key, key)
	}
	return hit
}

// mixedTrace has keys by a Zipf distribution, loops just longer than n, and keys that
// come once.
func mixedTrace(n int) (trace []uint64) {
	r := rand.New(rand.NewPCG(5, 6))
	skewed := rand.NewZipf(r, 1.01, 10, uint64(10*n))
	for i := range uint64(60 * n) {
		switch {
		case i/uint64(5*n)%4 == 3:
			trace = append(trace, 1<<32+i%uint64(n+n/20))
		case r.IntN(4) == 0:
			trace = append(trace, 1<<33+i)
		default:
			trace = append(trace, skewed.Uint64())
		}
	}
	return trace
}

// TestHitRatio compares hit ratios with known ones, in one shard and in several, and of goroutines
// that replay a trace in turns: it notices a change of a policy, or of its use in the cache, that
// costs half a point.
func TestHitRatio(t *testing.T) {
	for _, test := range []struct {
		policy     Policy
		limit      int
		goroutines int
		want       float64 // percent
	}{
		{LRU, 2000, 1, 30.30},
		{Adaptive, 2000, 1, 41.90},
		{Adaptive, 2000, 16, 41.90},
		{Adaptive, 10_000, 1, 47.06},
	} {
		trace := mixedTrace(test.limit)
		c := byPolicy(test.policy, test.limit)
		var next, hits atomic.Int64
		var wg sync.WaitGroup
		for range test.goroutines {
			wg.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(trace)); i = next.Add(1) - 1 {
					if answer(c, trace[i]) {
						hits.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if got := 100 * float64(hits.Load()) / float64(len(trace)); math.Abs(got-test.want) > 0.3 {
			t.Errorf("policy %d, limit %d, %d goroutines: %.2f %% hits, want %.2f", test.policy, test.limit, test.goroutines, got, test.want)
		}
	}
}

// TestEvictedKeysAreRemembered checks that Adaptive recognizes a key that was evicted when
// it comes back, and not one that was removed or expired.
func TestEvictedKeysAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			leave func(c *Cache[uint64, uint64])
			known bool
		}{
			"evicted": {func(c *Cache[uint64, uint64]) { c.Set(100, 0) }, true},
			"surplus": {func(c *Cache[uint64, uint64]) { _ = c.Resize(9) }, true},
			"deleted": {func(c *Cache[uint64, uint64]) { c.Del(0) }, false},
			"cleared": {func(c *Cache[uint64, uint64]) { c.Clear() }, false},
			"expired": {func(c *Cache[uint64, uint64]) {
				c.SetWithExpire(0, 0, time.Minute)
				time.Sleep(2 * time.Minute)
			}, false},
			"expired, and the wheel has not come by": {func(c *Cache[uint64, uint64]) {
				c.Del(0)
				c.SetWithExpire(0, 0, time.Millisecond)
				time.Sleep(time.Millisecond)
				for k := range uint64(20) {
					c.Set(100+k, 0)
				}
			}, false},
		} {
			c := byPolicy(Adaptive, 10)
			for k := range uint64(10) {
				c.Set(k, k)
			}
			test.leave(c)
			if _, there := c.Peek(0); there {
				t.Errorf("%s: the key is still there", name)
			}
			c.Set(0, 0)
			for k := range uint64(20) {
				c.Set(200+k, 0)
			}
			if _, known := c.Peek(0); known != test.known {
				t.Errorf("%s: the key is known: %v", name, known)
			}
			mustClose(t, c)
		}
	})
}

// TestExpiredValueIsNotEvicted checks that a value whose place is taken after its deadline counts
// as expired, though the wheel has not come by, and that a shard with few entries looks for such
// before it evicts its oldest.
func TestExpiredValueIsNotEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []int{few, 2 * few} {
			c := byPolicy(LRU, limit)
			if limit == few {
				c.Set(50, 0) // the oldest, which lives
			}
			c.SetWithExpire(0, 0, time.Millisecond)
			for k := uint64(1); c.Len() < limit; k++ {
				c.Set(k, 0)
			}
			time.Sleep(time.Millisecond)
			c.Set(100, 0)
			if r := c.Stats().Removals; r.Expired != 1 || r.Evicted != 0 {
				t.Errorf("with a limit of %d: %d expired, %d evicted, want 1 and 0", limit, r.Expired, r.Evicted)
			}
			mustClose(t, c)
		}
	})
}

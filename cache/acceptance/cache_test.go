// Package acceptance tests the cache from outside: a TestPromiseN for each promise of the
// README, the methods that no promise covers (in this file), and a ledger of all values.
//
// All time is the fake time of testing/synctest, except in a few tests that need real
// threads or the garbage collector. Every subtest says in one line what it catches.
package acceptance

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) {
	settle.VerifyTestMain(m)
}

func TestResize(t *testing.T) {
	// Catches: Resize that leaves the surplus to later Sets, evicts the wrong end, or does not report.
	Bubble(t, "down evicts the oldest at once", func(t *testing.T) {
		var rec Recorder[string, int]
		c := New(t, cache.Options[string, int]{Limit: 5, OnRemove: rec.Add})
		for i, k := range Numbered("k", 5) {
			c.Set(k, i)
		}
		MustResize(t, c, 2)
		WantLen(t, c, 2)
		WantEvents(t, &rec, Event("k0", 0, cache.Evicted), Event("k1", 1, cache.Evicted), Event("k2", 2, cache.Evicted))
		c.Set("k5", 5)
		WantEvents(t, &rec, Event("k3", 3, cache.Evicted))
		WantHit(t, c, "k4", 4)
		WantHit(t, c, "k5", 5)
	})

	// Catches: Resize that rebuilds and forgets, or that does not use the new room.
	Bubble(t, "up keeps and makes room", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 3})
		keys := Numbered("k", 6)
		for i, k := range keys[:3] {
			c.Set(k, i)
		}
		MustResize(t, c, 6)
		for i, k := range keys[3:] {
			c.Set(k, i+3)
		}
		for i, k := range keys {
			WantHit(t, c, k, i)
		}
		c.Set("one more", 1)
		WantLen(t, c, 6)
	})

	// Catches: a limit that grows past the size where shards begin, and is not honoured.
	Bubble(t, "from 100 to 10000", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 100})
		MustResize(t, c, 10_000)
		for i := range 30_000 {
			c.Set(strconv.Itoa(i), i)
		}
		if n := c.Len(); n <= 5_000 || n > 10_000 {
			t.Errorf("Len = %d, want about and at most 10000", n)
		}
	})
}

func TestAll(t *testing.T) {
	// Catches: a lock held while the body runs, and stable keys lost or repeated when the arrays
	// grow, shrink or are reordered meanwhile.
	for _, limit := range []int{0, 4000, 20_000} {
		Bubble(t, fmt.Sprintf("the body may call the cache, limit %d", limit), func(t *testing.T) {
			c := New(t, cache.Options[string, int]{Limit: limit})
			stable := Numbered("stable", 300)
			for i, k := range stable {
				c.Set(k, i)
			}
			times := map[string]int{}
			churn := 0
			for k := range c.All() {
				times[k]++
				for range 10 {
					churn++
					c.Set(fmt.Sprint("churn", churn), churn)
					c.Get(k)
					c.Del(fmt.Sprint("churn", churn-50))
				}
				if churn >= 100_000 {
					break // All may yield what is added meanwhile: the loop must end
				}
			}
			for _, k := range stable {
				if _, here := c.Peek(k); here && times[k] != 1 {
					t.Errorf("%s: yielded %d times, want once", k, times[k])
				}
			}
		})
	}

	// Catches: arrays that shrink and so move entries from slots that All has yet to visit to slots that
	// it has visited.
	Bubble(t, "the body may remove most", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Limit: 4000})
		Fill(c, 4000)
		times := map[string]int{}
		for k := range c.All() {
			if times[k]++; len(times) > 1 {
				continue
			}
			for i := range 4000 {
				if i%100 != 0 {
					c.Del(strconv.Itoa(i))
				}
			}
		}
		for i := 0; i < 4000; i += 100 {
			if n := times[strconv.Itoa(i)]; n != 1 {
				t.Errorf("%d: yielded %d times, want once", i, n)
			}
		}
	})

	// Catches: a race between All and writers (-race), and stable keys lost beside them.
	t.Run("beside writers", func(t *testing.T) {
		c := New(t, cache.Options[string, int]{})
		stable := Numbered("stable", 500)
		for i, k := range stable {
			c.Set(k, i)
		}
		var stop atomic.Bool
		var writers sync.WaitGroup
		for g := range 3 {
			writers.Go(func() {
				for i := 0; !stop.Load(); i++ {
					c.Set(fmt.Sprint(g, i%2000), i)
					c.Del(fmt.Sprint(g, (i+1000)%2000))
				}
			})
		}
		for range Scaled(50) {
			seen := map[string]int{}
			for k := range c.All() {
				seen[k]++
			}
			for _, k := range stable {
				if seen[k] != 1 {
					t.Errorf("%s: yielded %d times, want once", k, seen[k])
				}
			}
		}
		stop.Store(true)
		writers.Wait()
	})
}

// Package acceptance tests the cache from outside: a TestPromiseN for each promise of the
// README, the methods that no promise covers (in this file), and a ledger of all values.
//
// All time is the fake time of testing/synctest, except in a few tests that need real
// threads or the garbage collector. Every subtest says in one line what it catches.
package acceptance

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) {
	settle.VerifyTestMain(m)
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

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

// Catches: a race between All and writers (-race), a lock that is held while the body runs, and
// stable keys lost or repeated when shards are divided, and grow and shrink, beside it.
func TestAll(t *testing.T) {
	for _, limit := range []int{0, 20_000} {
		c := New(t, cache.Options[string, int]{Limit: limit})
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
		for n := range Scaled(50) {
			seen := map[string]int{}
			for k := range c.All() {
				seen[k]++
				c.Set("in the body", n)
			}
			for _, k := range stable {
				if seen[k] != 1 {
					t.Errorf("limit %d: %s was yielded %d times, want once", limit, k, seen[k])
				}
			}
		}
		stop.Store(true)
		writers.Wait()
	}
}

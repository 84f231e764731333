package gozero

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	theirs "github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/logx"
	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestCacheAgrees runs the same operations on our cache and on go-zero's, and compares every result.
//
// go-zero moves a key that is used to the end at once. Ours marks it, and eviction moves it when it
// reaches it. That is the same order if only the oldest keys of a full cache are used, once each and
// oldest first, and a new one is stored next. TestPromise2SynchronousAndBounded compares all other orders
// with a model, and cache.TestModel the results of all methods.
//
// Catches: an order that is not FIFO; marks that are not set, not honoured, not taken back, or that
// reorder; a key that Del forgets.
func TestCacheAgrees(t *testing.T) {
	peers := map[int]*theirs.Cache{} // used again, as their goroutines never end
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 2, 7, 50}).Draw(t, "limit")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		if peers[limit] == nil {
			peers[limit] = newGoZero(t, theirs.WithLimit(limit))
		}
		ours, g := cache.Must(cache.Options[string, any]{Limit: limit, Expire: time.Hour}), peers[limit]
		var order []string // oldest first
		defer func() {
			for _, key := range order {
				g.Del(key)
			}
		}()
		get := func(key string, there bool) {
			v, ok := ours.Get(key)
			if w, their := g.Get(key); v != w || ok != their || ok != there {
				t.Fatalf("Get(%s): ours %v, %t; go-zero %v, %t; want %t", key, v, ok, w, their, there)
			}
		}
		take := func(key string, value any, err error) {
			fetch := func() (any, error) { return value, err }
			v, our := ours.Take(key, fetch)
			if w, their := g.Take(key, fetch); our != their || our == nil && v != w {
				t.Fatalf("Take(%s): ours %v, %v; go-zero %v, %v", key, v, our, w, their)
			}
		}
		set := func(key string, value any) { ours.Set(key, value); g.Set(key, value) }
		for i := range 6 * limit {
			key, full := fmt.Sprint(i), len(order) == limit
			get(key, false)
			take(key, i, errFetch)
			if full {
				used := order[:random.IntN(limit+1)]
				for _, old := range used {
					switch random.IntN(3) {
					case 0:
						get(old, true)
					case 1:
						take(old, nil, errFetch)
					default:
						set(old, i)
					}
				}
				order = slices.Concat(order[len(used):], used)
			}
			if random.IntN(2) == 0 {
				set(key, i)
			} else {
				take(key, i, nil)
			}
			if order = append(order, key); full {
				get(order[0], false)
				order = order[1:]
			}
			if at := random.IntN(10 * limit); at < len(order) {
				ours.Del(order[at])
				g.Del(order[at])
				order = slices.Delete(order, at, at+1)
			}
		}
		for i := range 6 * limit {
			key := fmt.Sprint(i)
			get(key, slices.Contains(order, key))
		}
		if n := ours.Len(); n != len(order) {
			t.Fatalf("Len = %d, want %d", n, len(order))
		}
	})
}

func newGoZero(t rapid.TB, opts ...theirs.CacheOption) *theirs.Cache {
	t.Helper()
	logx.DisableStat() // it logs its hit ratio every minute
	g, err := theirs.NewCache(time.Hour, opts...)
	if err != nil {
		t.Fatalf("go-zero: %v", err)
	}
	return g
}

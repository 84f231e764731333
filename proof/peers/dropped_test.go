package peers

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/Yiling-J/theine-go"
	"github.com/dgraph-io/ristretto/v2"
	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/jellydator/ttlcache/v3"
	"github.com/maypok86/otter/v2"
	"github.com/viccon/sturdyc"
	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/logx"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// A large value is one that the allocator does not put beside others.
type large [1 << 16]byte

// TestDropped stores a value in a cache, and drops the cache without closing it.
//
// Shows: which caches are collected, and which their goroutines keep for ever.
func TestDropped(t *testing.T) {
	logx.Disable() // go-zero's statistics, every minute
	for name, c := range map[string]struct {
		collected bool
		store     func(t *testing.T, value *large)
	}{
		"pinwheel": {true, func(_ *testing.T, value *large) {
			cache.Must(cache.Options[string, *large]{Expire: time.Hour}).Set("k", value)
		}},
		"otter": {true, func(_ *testing.T, value *large) {
			otter.Must(&otter.Options[string, *large]{ExpiryCalculator: otter.ExpiryWriting[string, *large](time.Hour)}).Set("k", value)
		}},
		"ttlcache": {true, func(_ *testing.T, value *large) {
			ttlcache.New[string, *large]().Set("k", value, time.Hour)
		}},
		"ttlcache, started": {false, func(_ *testing.T, value *large) {
			c := ttlcache.New[string, *large]()
			c.Set("k", value, time.Hour)
			go c.Start()
		}},
		"sturdyc": {false, func(_ *testing.T, value *large) {
			sturdyc.New[*large](1000, 1, time.Hour, 10).Set("k", value)
		}},
		"sturdyc, WithNoContinuousEvictions": {true, func(_ *testing.T, value *large) {
			sturdyc.New[*large](1000, 1, time.Hour, 10, sturdyc.WithNoContinuousEvictions()).Set("k", value)
		}},
		"go-zero": {false, func(t *testing.T, value *large) {
			c, err := collection.NewCache(time.Hour)
			settle.Must(t, err)
			c.Set("k", value)
		}},
		"theine": {false, func(t *testing.T, value *large) {
			c, err := theine.NewBuilder[string, *large](1000).Build()
			settle.Must(t, err)
			c.Set("k", value, 1)
			c.Wait()
		}},
		"ristretto": {false, func(t *testing.T, value *large) {
			c, err := ristretto.NewCache(&ristretto.Config[string, *large]{NumCounters: 1000, MaxCost: 100, BufferItems: 64, IgnoreInternalCost: true})
			settle.Must(t, err)
			c.Set("k", value, 1)
			c.Wait()
		}},
		"golang-lru, expirable": {false, func(_ *testing.T, value *large) {
			expirable.NewLRU[string, *large](10, nil, time.Hour).Add("k", value)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, gone := context.WithCancel(context.Background())
			func() {
				value := new(large)
				runtime.AddCleanup(value, func(gone context.CancelFunc) { gone() }, gone)
				c.store(t, value)
			}()
			if c.collected {
				for begin := time.Now(); ctx.Err() == nil && time.Since(begin) < time.Minute; time.Sleep(time.Millisecond) {
					runtime.GC()
				}
			} else {
				for range 10 { // for one that would be collected
					runtime.GC()
					time.Sleep(time.Millisecond)
				}
			}
			if got := ctx.Err() != nil; got != c.collected {
				t.Errorf("collected: %t, want %t", got, c.collected)
			}
		})
	}
}

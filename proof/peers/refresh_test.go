package peers

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/viccon/sturdyc"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A refresher is a cache whose values are due for a refresh as soon as they are stored.
type refresher struct {
	take  func(fetch func() int) int // of the one key
	del   func()
	get   func() (int, bool)
	ended func() // waits for the refresh, if the cache reports its end
}

// refreshers are the caches of the table that refresh in the background.
var refreshers = map[string]func() refresher{
	"pinwheel": func() refresher {
		c := cache.Must(cache.Options[string, int]{Expire: time.Hour, Refresh: 1e-9})
		return refresher{
			take: func(fetch func() int) int {
				v, _ := c.TakeCtx(context.Background(), "k", func(context.Context) (int, error) { return fetch(), nil })
				return v
			},
			del:   func() { c.Del("k") },
			get:   func() (int, bool) { return c.Get("k") },
			ended: func() { wait(func() bool { return c.Stats().Loads.Running == 0 }) },
		}
	},
	"otter": func() refresher {
		var running sync.WaitGroup
		c := otter.Must(&otter.Options[string, int]{
			RefreshCalculator: otter.RefreshWriting[string, int](time.Nanosecond),
			Executor:          func(run func()) { running.Go(run) },
		})
		return refresher{
			take: func(fetch func() int) int {
				v, _ := c.Get(context.Background(), "k", otter.LoaderFunc[string, int](func(context.Context, string) (int, error) { return fetch(), nil }))
				return v
			},
			del:   func() { c.Invalidate("k") },
			get:   func() (int, bool) { return c.GetIfPresent("k") },
			ended: running.Wait,
		}
	},
	"sturdyc": func() refresher {
		c := sturdyc.New[int](1000, 1, time.Hour, 10, sturdyc.WithNoContinuousEvictions(),
			sturdyc.WithEarlyRefreshes(time.Nanosecond, 2*time.Nanosecond, time.Hour, time.Minute))
		return refresher{
			take: func(fetch func() int) int {
				v, _ := c.GetOrFetch(context.Background(), "k", func(context.Context) (int, error) { return fetch(), nil })
				return v
			},
			del:   func() { c.Delete("k") },
			get:   func() (int, bool) { return c.Get("k") },
			ended: func() { wait(func() bool { _, ok := c.Get("k"); return ok }) },
		}
	},
}

// TestDelDuringRefresh removes a key while its value is refreshed in the background.
//
// Shows: in sturdyc the refresh stores what it read before the removal.
func TestDelDuringRefresh(t *testing.T) {
	for name, undone := range map[string]bool{"pinwheel": false, "otter": false, "sturdyc": true} {
		t.Run(name, func(t *testing.T) {
			c := refreshers[name]()
			c.take(func() int { return 1 })
			time.Sleep(time.Millisecond)
			fetching, removed := make(chan struct{}), make(chan struct{})
			if v := c.take(func() int { close(fetching); <-removed; return 2 }); v != 1 {
				t.Fatalf("%d: who finds the value due waits for its refresh", v)
			}
			<-fetching
			c.del()
			close(removed)
			c.ended()
			if v, ok := c.get(); ok != undone {
				t.Errorf("Get = %d, %t; found after it was removed: want %t", v, ok, undone)
			}
		})
	}
}

// wait polls until a condition holds of which the cache notifies nobody.
func wait(so func() bool) {
	for !so() {
		time.Sleep(10 * time.Microsecond)
	}
}

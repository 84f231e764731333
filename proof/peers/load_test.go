// Package peers shows what other caches do to writes that happen beside a load, a Compute or an
// expiry, and what this module's does: the same steps, every time. docs/linearizability.md has
// the table. When a library mends a fault, its test fails: then update the table.
package peers

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/Yiling-J/theine-go"
	"github.com/jellydator/ttlcache/v3"
	"github.com/maypok86/otter/v2"
	"github.com/viccon/sturdyc"
	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/logx"
	"golang.org/x/sync/singleflight"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// A loader is a cache that loads, by the operations on one key.
type loader struct {
	take func(fetch func() int) int
	set  func(int)
	del  func()
	get  func() (int, bool)
}

// loaders are the caches, each used as its documentation says.
var loaders = map[string]func(t *testing.T) loader{
	"pinwheel": func(*testing.T) loader {
		c := cache.Must(cache.Options[string, int]{})
		return loader{
			take: func(fetch func() int) int {
				v, _ := c.Take("k", func() (int, error) { return fetch(), nil })
				return v
			},
			set: func(v int) { c.Set("k", v) },
			del: func() { c.Del("k") },
			get: func() (int, bool) { return c.Get("k") },
		}
	},
	"otter": func(*testing.T) loader {
		return otterWith(otter.Options[string, int]{})
	},
	"go-zero": func(t *testing.T) loader {
		logx.Disable() // its statistics, every minute
		c, err := collection.NewCache(time.Hour)
		settle.Must(t, err)
		return loader{
			take: func(fetch func() int) int {
				v, _ := c.Take("k", func() (any, error) { return fetch(), nil })
				return v.(int)
			},
			set: func(v int) { c.Set("k", v) },
			del: func() { c.Del("k") },
			get: func() (int, bool) {
				v, ok := c.Get("k")
				i, _ := v.(int)
				return i, ok
			},
		}
	},
	"sturdyc": func(*testing.T) loader {
		c := sturdyc.New[int](1000, 1, time.Hour, 10, sturdyc.WithNoContinuousEvictions(), sturdyc.WithLog(&sturdyc.NoopLogger{}))
		return loader{
			take: func(fetch func() int) int {
				v, _ := c.GetOrFetch(context.Background(), "k", func(context.Context) (int, error) { return fetch(), nil })
				return v
			},
			set: func(v int) { c.Set("k", v) },
			del: func() { c.Delete("k") },
			get: func() (int, bool) { return c.Get("k") },
		}
	},
	"ttlcache": func(*testing.T) loader { // a loader stores its value, as in its README
		c, group := ttlcache.New[string, int](), new(singleflight.Group)
		return loader{
			take: func(fetch func() int) int {
				load := ttlcache.LoaderFunc[string, int](func(c *ttlcache.Cache[string, int], key string) *ttlcache.Item[string, int] {
					return c.Set(key, fetch(), ttlcache.DefaultTTL)
				})
				return c.Get("k", ttlcache.WithLoader[string, int](ttlcache.NewSuppressedLoader[string, int](load, group))).Value()
			},
			set: func(v int) { c.Set("k", v, ttlcache.DefaultTTL) },
			del: func() { c.Delete("k") },
			get: func() (int, bool) {
				i := c.Get("k")
				if i == nil {
					return 0, false
				}
				return i.Value(), true
			},
		}
	},
	"a map and a mutex": func(*testing.T) loader {
		var mu sync.Mutex
		values := map[string]int{}
		c := loader{
			set: func(v int) { mu.Lock(); defer mu.Unlock(); values["k"] = v },
			del: func() { mu.Lock(); defer mu.Unlock(); delete(values, "k") },
			get: func() (int, bool) { mu.Lock(); defer mu.Unlock(); v, ok := values["k"]; return v, ok },
		}
		c.take = func(fetch func() int) int {
			if v, ok := c.get(); ok {
				return v
			}
			v := fetch()
			c.set(v)
			return v
		}
		return c
	},
}

func otterWith(options otter.Options[string, int]) loader {
	c := otter.Must(&options)
	return loader{
		take: func(fetch func() int) int {
			v, _ := c.Get(context.Background(), "k", otter.LoaderFunc[string, int](func(context.Context, string) (int, error) { return fetch(), nil }))
			return v
		},
		set: func(v int) { c.Set("k", v) },
		del: func() { c.Invalidate("k") },
		get: func() (int, bool) { return c.GetIfPresent("k") },
	}
}

// begin has a goroutine take the key, and returns when its fetch runs. end ends the fetch, with
// the value, waits for the Take and returns its result. A cache that fetches again, as the key
// has changed, gets another value.
func (l loader) begin(t *testing.T, value int) (end func() int) {
	t.Helper()
	fetching, changed, got := make(chan struct{}), make(chan struct{}), make(chan int, 1)
	fetches := 0
	go func() {
		got <- l.take(func() int {
			if fetches++; fetches > 1 {
				return again
			}
			close(fetching)
			<-changed
			return value
		})
	}()
	select {
	case <-fetching:
	case <-time.After(time.Minute):
		t.Fatal("the Take does not fetch")
	}
	return func() int { close(changed); return <-got }
}

const before, after, again = 1, 2, 3

// TestChangeDuringLoad removes or sets a key while a Take fetches it.
//
// Shows: which caches store what was read before the change.
func TestChangeDuringLoad(t *testing.T) {
	for name, stale := range map[string]bool{"pinwheel": false, "otter": false, "go-zero": true, "ttlcache": true, "sturdyc": true, "a map and a mutex": true} {
		t.Run(name+", Del", func(t *testing.T) {
			l := loaders[name](t)
			end := l.begin(t, before)
			l.del()
			end()
			got, ok := l.get()
			back := ok && got == before
			t.Logf("the value from before is back: %t", back)
			if back != stale {
				t.Errorf("Get = %d, %t; the removed value is there: want %t", got, ok, stale)
			}
		})
		t.Run(name+", Set", func(t *testing.T) {
			l := loaders[name](t)
			end := l.begin(t, before)
			l.set(after)
			end()
			got, ok := l.get()
			t.Logf("the value from before is back: %t", ok && got == before)
			if !ok || got == before != stale {
				t.Errorf("Get = %d, %t; the overwritten value is there: want %t", got, ok, stale)
			}
		})
	}
}

// TestTakeAfterDel takes a key after a Del has returned, while a Take that began before it still
// fetches.
//
// Shows: which caches give the later Take what was read before the change.
func TestTakeAfterDel(t *testing.T) {
	for name, joins := range map[string]bool{"pinwheel": false, "otter": false, "go-zero": true, "ttlcache": true, "sturdyc": true} {
		t.Run(name, func(t *testing.T) {
			// Whether the later Take has joined cannot be seen: wait longer each time.
			for wait := time.Millisecond; ; wait *= 2 {
				l := loaders[name](t)
				end := l.begin(t, before)
				l.del()
				own, got := make(chan struct{}), make(chan int)
				go func() { got <- l.take(func() int { close(own); return after }) }()
				select {
				case <-own:
				case <-time.After(wait): // it has joined, or waits for the end of the first
				}
				end()
				switch v := <-got; {
				case (v == before) == joins:
					return
				case !joins || wait > time.Minute:
					t.Fatalf("the Take after Del returned %d; what was read before it: want %t", v, joins)
				}
			}
		})
	}
}

// TestTheineKeepsDeadline sets a value without a TTL over one that has expired.
//
// Shows: theine keeps the old deadline, so the Set is lost.
func TestTheineKeepsDeadline(t *testing.T) {
	c, err := theine.NewBuilder[int, int](1000).Build()
	settle.Must(t, err)
	defer c.Close()
	// Once a second theine removes what has expired. If that happens now, the Set is kept.
	for range 10 {
		c.SetWithTTL(0, before, 1, time.Millisecond)
		for there := true; there; {
			_, there = c.Get(0)
		}
		c.SetWithTTL(0, after, 1, 0)
		if _, ok := c.Get(0); !ok {
			return
		}
	}
	t.Error("theine's Set is no longer lost")
}

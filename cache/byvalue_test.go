package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestExpireBy checks that the option chooses the TTL of what each method stores that says none, and that a
// value with a negative one is not stored, and takes what was there along.
func TestExpireBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, time.Duration]{
			ExpireBy: func(_ string, value time.Duration) time.Duration { return value },
			Load: func(_ context.Context, key string, l *cache.Load[time.Duration]) (time.Duration, error) {
				d, err := time.ParseDuration(key)
				if d > 4*time.Hour {
					l.Expire = 4 * time.Hour
				}
				return d, err
			},
			Grace: time.Hour,
		})
		defer cache.MustClose(t, c)
		ctx := t.Context()
		for name, store := range map[string]func(d time.Duration){
			"Set":      func(d time.Duration) { c.Set("k", d) },
			"Swap":     func(d time.Duration) { c.Swap("k", d) },
			"GetOrSet": func(d time.Duration) { c.Expire("k"); c.GetOrSet("k", d) },
			"Compute": func(d time.Duration) {
				c.Expire("k")
				c.Compute("k", func(time.Duration, bool) (time.Duration, cache.Op) { return d, cache.OpSet })
			},
			"Take": func(d time.Duration) { c.Del("k"); _, _ = c.Take("k", func() (time.Duration, error) { return d, nil }) },
			"TakeCtx": func(d time.Duration) {
				c.Del("k")
				_, _ = c.TakeCtx(ctx, "k", func(context.Context) (time.Duration, error) { return d, nil })
			},
			"TakeMany": func(d time.Duration) {
				c.Del("k")
				_, _ = c.TakeMany(ctx, []string{"k"}, func(context.Context, []string) (map[string]time.Duration, error) {
					return map[string]time.Duration{"k": d}, nil
				})
			},
		} {
			for _, d := range []time.Duration{time.Minute, 0, 2 * time.Hour} {
				store(d)
				if e, ok := c.Entry("k"); !ok || e.TTL != d && !(d == 0 && e.TTL > 1<<62) {
					t.Errorf("%s(%v): %+v, %t", name, d, e, ok)
				}
			}
			c.Set("k", time.Minute)
			store(-1)
			if e, ok := c.Stale("k"); ok != (name == "GetOrSet") { // which leaves the value that has expired
				t.Errorf("%s of a negative TTL: %+v, %t", name, e, ok)
			}
		}
		c.SetWithExpire("k", time.Minute, time.Hour)
		if e, _ := c.Entry("k"); e.TTL != time.Hour {
			t.Errorf("SetWithExpire: %+v", e)
		}
		c.Set("3s", time.Minute)
		if err := c.Refresh(ctx, "3s", "-1s"); err != nil {
			t.Error(err)
		}
		if e, ok := c.Entry("3s"); e.TTL != 3*time.Second || !ok {
			t.Errorf("Refresh: %+v, %t", e, ok)
		}
		c.SetWithExpire("-1s", time.Minute, time.Hour)
		if err := c.Refresh(ctx, "-1s"); err != nil {
			t.Error(err)
		}
		if e, ok := c.Stale("-1s"); ok {
			t.Errorf("Refresh with a negative TTL: %+v", e)
		}
		c.Compute("k", func(time.Duration, bool) (time.Duration, cache.Op) { return time.Second, cache.OpSet })
		if e, _ := c.Entry("k"); e.TTL != time.Hour {
			t.Errorf("Compute of a key with a value: %+v", e)
		}
		for key, ttl := range map[string]time.Duration{"3s": 3 * time.Second, "5h": 4 * time.Hour} {
			if e, err := c.TakeEntry(ctx, key, cache.Terms{}, nil); err != nil || e.TTL != ttl {
				t.Errorf("a load: %+v, %v", e, err)
			}
		}
	})
	if _, err := cache.New(cache.Options[int, int]{Expire: time.Hour, ExpireBy: func(int, int) time.Duration { return 0 }}); !errors.Is(err, cache.ErrArgument) {
		t.Errorf("with Expire: %v", err)
	}
}

// TestComputeEntry checks a limit of calls in a window, which begins with the first call.
func TestComputeEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, o := range map[string]cache.Options[string, int]{
			"simple": {}, "Idle": {Idle: time.Hour}, "Expire": {Expire: time.Hour}, "Refresh": {Expire: time.Hour, Refresh: 0.5, Grace: time.Hour},
		} {
			c := cache.Must(o)
			count := func(n int, _ bool) (int, cache.Op) { return n + 1, cache.OpSet }
			for i, want := range []struct {
				n    int
				left time.Duration
			}{{1, 60 * time.Second}, {2, 40 * time.Second}, {3, 20 * time.Second}, {1, 60 * time.Second}} {
				e, ok := c.ComputeEntry("k", time.Minute, count)
				if !ok || e.Key != "k" || e.Value != want.n || e.TTL != want.left {
					t.Errorf("%s, call %d: %+v, %t", name, i, e, ok)
				}
				time.Sleep(20 * time.Second)
			}
			if e, ok := c.ComputeEntry("k", time.Minute, func(n int, _ bool) (int, cache.Op) { return n, cache.OpKeep }); !ok || e.Value != 1 || e.TTL != 40*time.Second {
				t.Errorf("%s, OpKeep: %+v, %t", name, e, ok)
			}
			if e, ok := c.ComputeEntry("k", time.Minute, func(n int, _ bool) (int, cache.Op) { return n, cache.OpDelete }); ok || e.Value != 0 || e.TTL != 0 {
				t.Errorf("%s, OpDelete: %+v, %t", name, e, ok)
			}
			if e, ok := c.ComputeEntry("k", -1, count); ok {
				t.Errorf("%s, a negative TTL: %+v, %t", name, e, ok)
			}
			cache.MustClose(t, c)
		}
	})
}

// TestExpireByOfLoads checks that each load of a batch is asked about, also one that says Unchanged, but
// none that says that the value is not to be stored.
func TestExpireByOfLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ttl := time.Minute
		c := cache.Must(cache.Options[string, int]{
			ExpireBy: func(_ string, v int) time.Duration { return time.Duration(v) * ttl },
			LoadMany: func(_ context.Context, keys []string, loads []*cache.Load[int]) (map[string]int, error) {
				values := map[string]int{}
				for i, key := range keys {
					loads[i].Unchanged = loads[i].HasOld
					if values[key] = len(key); key == "none" {
						loads[i].Expire = -1
					}
				}
				return values, nil
			},
		})
		defer cache.MustClose(t, c)
		for range 2 {
			if err := c.Refresh(t.Context(), "a", "bb", "none", "a"); err != nil {
				t.Error(err)
			}
			for key, want := range map[string]time.Duration{"a": ttl, "bb": 2 * ttl, "none": 0} {
				if e, ok := c.Entry(key); e.TTL != want || ok != (want > 0) {
					t.Errorf("%q: %+v, %t", key, e, ok)
				}
			}
			ttl = time.Hour
		}
	})
}

// TestOptionsThatExclude checks options that need another one, or exclude it.
func TestOptionsThatExclude(t *testing.T) {
	for name, o := range map[string]cache.Options[int, int]{
		"RefreshAfter is": {Expire: time.Hour, RefreshAfter: time.Hour},
		"both Refresh":    {Expire: time.Hour, RefreshAfter: time.Minute, Refresh: 0.5},
		"Batch is":        {Batch: time.Second},
		"Elastic is":      {Elastic: true},
	} {
		if _, err := cache.New(o); !errors.Is(err, cache.ErrArgument) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package cache_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestHotKeys checks that of gets that follow Zipf's law the hottest keys are found, in
// order, as far as a sample can tell them apart.
func TestHotKeys(t *testing.T) {
	c := cache.Must(cache.Options[string, int]{Limit: 100, HotKeys: 5})
	const gets = 2_000_000
	next := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.5, 1, 1<<20).Uint64
	counts := map[string]float64{}
	names := make([]string, 1<<20+1)
	for i := range gets {
		k := next()
		if names[k] == "" {
			names[k] = fmt.Sprint("key ", k)
		}
		c.Get(names[k])
		if i >= gets/2 {
			counts[names[k]]++
		}
	}
	got := c.HotKeys()
	if len(got) != 5 {
		t.Fatalf("%d hot keys, want 5: %v", len(got), got)
	}
	for i, k := range got {
		if i < 3 && k.Key != names[i] {
			t.Errorf("number %d is %q, want %q", i, k.Key, names[i])
		}
		share := counts[k.Key] / (gets / 2)
		if math.Abs(k.Share-share) > 0.05 {
			t.Errorf("%q has %v of all gets, want about %v", k.Key, k.Share, share)
		}
		if i > 0 && k.Share > got[i-1].Share {
			t.Errorf("not in order: %v", got)
		}
	}
	c.Clear()
	if got := c.HotKeys(); len(got) != 5 {
		t.Errorf("hot keys are %v after Clear, want the same: they were asked for all the same", got)
	}
}

// ask gets a key until it is in the sample.
func ask[K comparable](c *cache.Cache[K, int], key K) {
	for range 2000 {
		c.Get(key)
	}
}

// TestHotKeysOfNaN checks that a key that is not equal to itself is never hot.
func TestHotKeysOfNaN(t *testing.T) {
	floats := cache.Must(cache.Options[float64, int]{HotKeys: 10})
	ask(floats, math.NaN())
	if got := floats.HotKeys(); got != nil {
		t.Errorf("NaN is hot: %v", got)
	}
	ask(floats, 0.5)
	if got := floats.HotKeys(); len(got) != 1 || got[0] != (cache.HotKey[float64]{0.5, 1}) {
		t.Errorf("hot keys are %v, want 0.5", got)
	}
}

// TestCloseDropsHotKeys checks that Close drops the hot keys, and that later gets are not
// counted.
func TestCloseDropsHotKeys(t *testing.T) {
	c := cache.Must(cache.WithExtras(cache.Options[*[64]byte, int]{Limit: 10}))
	var freed atomic.Int64
	use := func() {
		for range 100 {
			key := new([64]byte)
			runtime.AddCleanup(key, func(*atomic.Int64) { freed.Add(1) }, &freed)
			c.Set(key, 1)
			ask(c, key)
		}
	}
	use()
	if got := len(c.HotKeys()); got != 10 {
		t.Errorf("%d hot keys before Close, want 10", got)
	}
	cache.MustClose(t, c)
	use()
	if got := c.HotKeys(); got != nil {
		t.Errorf("%d hot keys after Close", len(got))
	}
	if !settle.Collected(func() bool { return freed.Load() == 200 }) {
		t.Errorf("%d of 200 keys let go after Close", freed.Load())
	}
	runtime.KeepAlive(c)
}

// TestWatchedCacheIsCollected checks that a cache with hot keys and estimates is
// collected, although package stats can ask it for more than counts.
func TestWatchedCacheIsCollected(t *testing.T) {
	w := func() weak.Pointer[cache.Cache[string, int]] {
		c := cache.Must(cache.WithExtras(cache.Options[string, int]{Name: "watched and collected", Limit: 10, Expire: time.Hour}))
		c.Set("a", 1)
		ask(c, "a")
		return weak.Make(c)
	}()
	if !settle.Collected(func() bool { return w.Value() == nil }) {
		t.Error("the cache is not collected")
	}
}

// TestWhatIfFollowsTheCache checks that the estimates follow what changes the limit, and end with
// Close. All other operations are TestEstimatesOfSmallCachesAreExact.
func TestWhatIfFollowsTheCache(t *testing.T) {
	ctx := context.Background()
	c := cache.Must(cache.Options[int, int]{Limit: 10, WhatIf: true})
	hits := func(keys ...int) stats.WhatIf {
		before := c.Stats()
		for _, k := range keys {
			c.Get(k)
		}
		return c.Stats().Minus(before).WhatIf
	}
	want := func(what string, got stats.WhatIf, gets, half, same, double, other uint64) {
		t.Helper()
		if want := (stats.WhatIf{Gets: gets, Half: half, Same: same, Double: double, OtherPolicy: other}); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	if _, ok := c.Stats().WhatIfHitRatio(1); ok {
		t.Error("there is an estimate before the first get")
	}
	if err := c.Resize(-1); err == nil {
		t.Error("Resize(-1) returns no error")
	}
	c.Set(1, 1)
	want("after a Resize that failed", hits(1), 1, 1, 1, 1, 1)
	if err := c.Resize(0); err != nil {
		t.Fatal(err)
	}
	want("without a limit", hits(1), 0, 0, 0, 0, 0)
	if err := c.Resize(2); err != nil {
		t.Fatal(err)
	}
	want("with a new limit", hits(1, 1), 2, 1, 1, 1, 1) // the first get tells the shadows of it
	for k := range 4 {
		c.Set(k, k)
	}
	want("after 4 sets", hits(0, 3), 2, 1, 1, 2, 1)
	if err := c.Resize(8); err != nil {
		t.Fatal(err)
	}
	c.Set(2, 2)
	c.Set(3, 3)
	want("with a greater limit", hits(2, 3, 2, 3), 4, 4, 4, 4, 4)
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	c.Set(99, 1)
	want("after Close", hits(99), 1, 0, 0, 0, 0)
}

// TestWhatIfOtherPolicy checks, in a loop slightly longer than the limit, that each policy
// estimates the hits of the other: LRU has none, Adaptive has some.
func TestWhatIfOtherPolicy(t *testing.T) {
	loop := func(p cache.Policy) (ratio, other float64) {
		c := cache.Must(cache.Options[int, int]{Limit: 100, Policy: p, WhatIf: true})
		for i := range 10_000 {
			if _, ok := c.Get(i % 110); !ok {
				c.Set(i%110, i)
			}
		}
		s := c.Stats()
		other, _ = s.WhatIfHitRatio(s.WhatIf.OtherPolicy)
		return s.HitRatio(), other
	}
	lru, adaptiveByLRU := loop(cache.LRU)
	adaptive, lruByAdaptive := loop(cache.Adaptive)
	if lru > 0.1 || adaptive < 0.6 || math.Abs(adaptiveByLRU-adaptive) > 0.05 || math.Abs(lruByAdaptive-lru) > 0.05 {
		t.Errorf("LRU %.3f, estimated %.3f; Adaptive %.3f, estimated %.3f", lru, lruByAdaptive, adaptive, adaptiveByLRU)
	}
}

// TestWhatIfSeesTouch checks that the shadows see a Touch, and so keep a key that Touch
// keeps alive.
func TestWhatIfSeesTouch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Limit: 10, Expire: time.Minute, WhatIf: true})
		defer c.Close(context.Background())
		c.Set(1, 1)
		time.Sleep(50 * time.Second)
		c.Touch(1, time.Minute)
		time.Sleep(50 * time.Second)
		c.Get(1)
		if got, want := c.Stats().WhatIf, (stats.WhatIf{Gets: 1, Half: 1, Same: 1, Double: 1, OtherPolicy: 1}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

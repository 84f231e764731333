package migration

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jellydator/ttlcache/v3"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// 0 is the default there and for ever here. -1 is for ever there and removes here.
func TestTTLCacheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New(ttlcache.WithTTL[string, int](time.Hour))
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		for key, ttl := range map[string]time.Duration{"zero": 0, "negative": -1} {
			c.Set(key, 1, ttl)
			p.SetWithExpire(key, 1, ttl)
		}
		want(t, "ours: there after a TTL of -1", has(p.Get("negative")), false)
		time.Sleep(time.Hour + 1)
		want(t, "ttlcache: there an hour after a TTL of -1", c.Has("negative"), true)
		want(t, "ttlcache: there an hour after a TTL of 0", c.Has("zero"), false)
		want(t, "ours: there an hour after a TTL of 0", has(p.Get("zero")), true)
	})
}

// Get restarts the TTL there, unless that is turned off. Here Idle does that.
func TestTTLCacheGetTouches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New(ttlcache.WithTTL[string, int](time.Hour))
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		c.Set("k", 1, ttlcache.DefaultTTL)
		p.Set("k", 1)
		time.Sleep(time.Hour / 2)
		c.Get("k")
		p.Get("k")
		time.Sleep(time.Hour / 2)
		want(t, "ttlcache: there an hour after Set", c.Has("k"), true)
		want(t, "ours: there an hour after Set", has(p.Get("k")), false)
	})
}

// Expired entries stay in memory there unless DeleteExpired or Start is called.
func TestTTLCacheNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New(ttlcache.WithTTL[string, int](time.Minute))
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Minute})
		c.Set("k", 1, ttlcache.DefaultTTL)
		p.Set("k", 1)
		time.Sleep(time.Hour)
		c.DeleteExpired()
		want(t, "ttlcache: removed by DeleteExpired, an hour later", c.Metrics().Evictions, 1)
		want(t, "ours: removed within a tick", p.Stats().Removals.Expired, 1)
	})
}

// Each caller calls the loader there, unless it is a SuppressedLoader.
func TestTTLCacheLoader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads atomic.Int32
		c := ttlcache.New(ttlcache.WithLoader[string, int](ttlcache.LoaderFunc[string, int](
			func(c *ttlcache.Cache[string, int], key string) *ttlcache.Item[string, int] {
				loads.Add(1)
				time.Sleep(time.Second)
				return c.Set(key, 1, ttlcache.DefaultTTL)
			})))
		p := pinwheel(t, cache.Options[string, int]{})
		twice := func(get func()) int32 {
			loads.Store(0)
			go get()
			time.Sleep(time.Millisecond)
			get()
			synctest.Wait()
			return loads.Load()
		}
		want(t, "ttlcache: loads for two callers", twice(func() { c.Get("k") }), 2)
		want(t, "ours: loads for two callers", twice(func() {
			must(p.Take("k", func() (int, error) {
				loads.Add(1)
				time.Sleep(time.Second)
				return 1, nil
			}))
		}), 1)
	})
}

// OnEviction is not called for a value that is replaced.
func TestTTLCacheReplaced(t *testing.T) {
	c := ttlcache.New[string, int]()
	c.Set("k", 1, ttlcache.DefaultTTL)
	c.Set("k", 2, ttlcache.DefaultTTL)
	want(t, "ttlcache: evictions", c.Metrics().Evictions, 0)

	events := make(chan cache.Cause, 1)
	p := pinwheel(t, cache.Options[string, int]{
		OnRemove: func(e cache.Event[string, int]) { events <- e.Cause },
	})
	p.Set("k", 1)
	p.Set("k", 2)
	want(t, "ours", <-events, cache.Replaced)
}

// PreviousOrDefaultTTL leaves the deadline alone there, as OpSet of Compute does here.
func TestTTLCachePreviousTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New(ttlcache.WithTTL[string, int](time.Hour))
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		set := func(v int) {
			c.Set("k", v, ttlcache.PreviousOrDefaultTTL)
			p.Compute("k", func(int, bool) (int, cache.Op) { return v, cache.OpSet })
		}
		set(1)
		time.Sleep(time.Hour / 2)
		set(2)
		want(t, "ours: value", value(p.Get("k")), 2)
		time.Sleep(time.Hour/2 + 1)
		want(t, "ttlcache: there an hour after the first Set", c.Has("k"), false)
		want(t, "ours: there an hour after the first Set", has(p.Get("k")), false)
	})
}

package migration

import (
	"cmp"
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jellydator/ttlcache/v3"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// 0 is the default there and for ever here. -1 is for ever there and removes here. setWithTTL
// does what ttlcache does.
func TestTTLCacheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New(ttlcache.WithTTL[string, int](time.Hour))
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		for key, ttl := range map[string]time.Duration{"zero": 0, "negative": -1} {
			c.Set(key, 1, ttl)
			p.SetWithExpire(key, 1, ttl)
			setWithTTL(p, key+" by setWithTTL", 1, ttl)
		}
		want(t, "ours: there after a TTL of -1", has(p.Get("negative")), false)
		time.Sleep(time.Hour + 1)
		want(t, "ttlcache: there an hour after a TTL of -1", c.Has("negative"), true)
		want(t, "ttlcache: there an hour after a TTL of 0", c.Has("zero"), false)
		want(t, "ours: there an hour after a TTL of 0", has(p.Get("zero")), true)
		want(t, "ours: there an hour after -1 by setWithTTL", has(p.Get("negative by setWithTTL")), true)
		want(t, "ours: there an hour after 0 by setWithTTL", has(p.Get("zero by setWithTTL")), false)
	})
}

// Each item there begins its own TTL anew when it is read. Idle is one time for all entries:
// it neither renews their TTLs nor spares those without one. A TTL in the value, and a Touch
// after Get, do what ttlcache does.
func TestTTLCacheItemTTLs(t *testing.T) {
	type item struct{ ttl time.Duration }
	synctest.Test(t, func(t *testing.T) {
		c := ttlcache.New(ttlcache.WithTTL[string, int](time.Hour))
		idle := pinwheel(t, cache.Options[string, int]{Idle: time.Hour})
		touched := pinwheel(t, cache.Options[string, item]{})
		get := func(k string) bool {
			i, ok := touched.Get(k)
			if ok {
				touched.Touch(k, i.ttl)
			}
			return ok
		}
		for k, ttl := range map[string]time.Duration{"a minute": time.Minute, "a day": 24 * time.Hour, "for ever": 0} {
			c.Set(k, 1, cmp.Or(ttl, ttlcache.NoTTL))
			idle.SetWithExpire(k, 1, ttl)
			touched.SetWithExpire(k, item{ttl}, ttl)
		}
		for range 3 {
			time.Sleep(40 * time.Second)
			c.Get("a minute")
			idle.Get("a minute")
			get("a minute")
		}
		want(t, "ttlcache: a minute, read each 40 s", c.Has("a minute"), true)
		want(t, "ours with Idle: a minute, read each 40 s", has(idle.Peek("a minute")), false)
		want(t, "ours with Touch: a minute, read each 40 s", has(touched.Peek("a minute")), true)
		time.Sleep(2 * time.Hour)
		want(t, "ttlcache: a minute, not read", c.Has("a minute"), false)
		want(t, "ours with Touch: a minute, not read", get("a minute"), false)
		for _, k := range []string{"a day", "for ever"} {
			want(t, "ttlcache: "+k, c.Has(k), true)
			want(t, "ours with Idle: "+k, has(idle.Get(k)), false)
			want(t, "ours with Touch: "+k, get(k), true)
		}
	})
}

// ttlcache reports an expired item at its deadline, once started; ours within a tick, which is
// 100 ms in a cache without Expire and Idle.
func TestExpiryIsReportedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var there, here, finer time.Duration
		c := ttlcache.New[string, int]()
		c.OnEviction(func(context.Context, ttlcache.EvictionReason, *ttlcache.Item[string, int]) { there = time.Since(start) })
		go c.Start()
		defer c.Stop()
		synctest.Wait()
		tells := func(d *time.Duration) func(cache.Event[string, int]) {
			return func(cache.Event[string, int]) { *d = time.Since(start) }
		}
		p := pinwheel(t, cache.Options[string, int]{OnRemove: tells(&here)})
		q := pinwheel(t, cache.Options[string, int]{OnRemove: tells(&finer), Expire: time.Second})
		const ttl = 5 * time.Millisecond
		c.Set("k", 1, ttl)
		p.SetWithExpire("k", 1, ttl)
		q.SetWithExpire("k", 1, ttl)
		time.Sleep(time.Second)
		synctest.Wait()
		want(t, "ttlcache: reported", there.Round(time.Millisecond), ttl)
		want(t, "ours: reported within 100 ms", ttl <= here && here <= ttl+100*time.Millisecond, true)
		want(t, "ours: reported later than a tick of 10 ms", here > ttl+10*time.Millisecond, true)
		want(t, "ours with an Expire of 1 s: reported within 10 ms", ttl <= finer && finer <= ttl+10*time.Millisecond, true)
		want(t, "ours: found at the deadline", has(p.Get("k")), false)
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

package migration

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocache "github.com/patrickmn/go-cache"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// 0 is the default there and for ever here; -1 is for ever there and "has expired
// already" here. setWithTTL does what go-cache does.
func TestGoCacheTTL(t *testing.T) {
	lives := func(found func() bool) time.Duration {
		const step = time.Minute
		for age := time.Duration(0); age < 2*time.Hour; age += step {
			if !found() {
				return age
			}
			time.Sleep(step)
		}
		return -1 // for ever
	}
	// go-cache still has a value at its deadline, so lives finds it one step longer.
	for _, c := range []struct{ ttl, there, here time.Duration }{
		{0, time.Hour + time.Minute, -1},
		{-1, -1, 0},
		{-5 * time.Second, -1, 0},
		{time.Minute, 2 * time.Minute, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := gocache.New(time.Hour, 0)
			g.Set("k", 1, c.ttl)
			want(t, "go-cache: life with a TTL of "+c.ttl.String(),
				lives(func() bool { return has(g.Get("k")) }), c.there)

			p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
			p.SetWithExpire("k", 1, c.ttl)
			want(t, "ours: life with a TTL of "+c.ttl.String(),
				lives(func() bool { return has(p.Peek("k")) }), c.here)

			setWithTTL(p, "k", 1, c.ttl)
			there := c.there
			if there > 0 {
				there -= time.Minute
			}
			want(t, "ours: life with a TTL of "+c.ttl.String()+" by setWithTTL",
				lives(func() bool { return has(p.Peek("k")) }), there)
		})
	}
}

// A default of 0 or less is none there. Here 0 is, and less is an error.
func TestGoCacheNoDefault(t *testing.T) {
	for _, ttl := range []time.Duration{0, gocache.NoExpiration, -time.Second} {
		synctest.Test(t, func(t *testing.T) {
			g := gocache.New(ttl, 0)
			p := pinwheel(t, cache.Options[string, int]{})
			g.SetDefault("k", 1)
			p.Set("k", 1)
			time.Sleep(1000 * time.Hour)
			want(t, "go-cache: there with a default of "+ttl.String(), has(g.Get("k")), true)
			want(t, "ours: there without Expire", has(p.Get("k")), true)
		})
	}
	_, err := cache.New(cache.Options[string, int]{Expire: gocache.NoExpiration})
	want(t, "ours: Expire of -1 refused", errors.Is(err, cache.ErrArgument), true)
}

// An increment keeps the deadline: the count expires 15 minutes after the first failed login.
func TestGoCacheIncrementKeepsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gocache.New(time.Hour, 0)
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		increment := func(n int, _ bool) (int, cache.Op) { return n + 1, cache.OpSet }
		g.SetDefault("k", 1)
		p.Set("set by Compute", 1)
		p.Set("set with a TTL", 1)
		time.Sleep(time.Hour / 2)
		if err := g.Increment("k", 1); err != nil {
			t.Error(err)
		}
		p.Compute("set by Compute", increment)
		p.ComputeWithExpire("set with a TTL", time.Hour, increment)
		time.Sleep(time.Hour/2 + 1)
		want(t, "go-cache after Increment", has(g.Get("k")), false)
		want(t, "ours after Compute", has(p.Get("set by Compute")), false)
		want(t, "ours after ComputeWithExpire", has(p.Get("set with a TTL")), true)
	})
}

// OnEvicted is called in the goroutine that deletes, and only for Delete and expiry;
// OnRemove in another one, and for every removal.
func TestGoCacheOnEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there []string
		g := gocache.New(time.Hour, 0)
		g.OnEvicted(func(key string, v any) { there = append(there, key) })
		g.SetDefault("replaced", 1)
		g.SetDefault("replaced", 2)
		g.SetDefault("deleted", 1)
		g.SetDefault("flushed", 1)
		g.Delete("deleted")
		want(t, "go-cache: calls when Delete returned", len(there), 1)
		g.Set("expired", 1, time.Minute)
		time.Sleep(time.Minute + 1)
		g.DeleteExpired()
		g.Flush()
		want(t, "go-cache: what OnEvicted was told", slices.Equal(there, []string{"deleted", "expired"}), true)

		var mu sync.Mutex
		here := make(map[string]int) // by cause
		p := pinwheel(t, cache.Options[string, int]{
			Expire: time.Hour,
			OnRemove: func(e cache.Event[string, int]) {
				mu.Lock()
				defer mu.Unlock()
				here[e.Cause.String()]++
			},
		})
		p.Set("replaced", 1)
		p.Set("replaced", 2)
		p.Set("deleted", 1)
		p.Set("flushed", 1)
		p.Del("deleted")
		p.SetWithExpire("expired", 1, time.Minute)
		time.Sleep(2 * time.Minute)
		p.Clear()
		synctest.Wait()
		for _, cause := range []cache.Cause{cache.Replaced, cache.Deleted, cache.Expired} {
			want(t, "ours: calls for "+cause.String(), here[cause.String()], 1)
		}
		want(t, "ours: calls for cleared", here["cleared"], 2)
	})
}

// A callback of go-cache has returned when Delete does; ours may not even have begun.
func TestOnRemoveDoesNotHoldUpDel(t *testing.T) {
	gate := make(chan struct{})
	called := make(chan struct{})
	p := pinwheel(t, cache.Options[string, int]{
		OnRemove: func(cache.Event[string, int]) { <-gate; close(called) },
	})
	p.Set("k", 1)
	p.Del("k") // returns while the callback waits
	close(gate)
	<-called
}

func TestGoCacheWithoutUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gocache.New(60*60, 0) // meant as an hour in seconds
		g.SetDefault("k", 1)
		time.Sleep(60*60 + 1)
		want(t, "go-cache: there after 3.6 µs", has(g.Get("k")), false)
	})
	if _, err := cache.New(cache.Options[string, int]{Expire: 60 * 60}); err == nil {
		t.Error("ours: Expire: 60*60 is accepted")
	}
}

// Without a janitor, go-cache keeps expired items in memory; ours removes them within a tick.
func TestGoCacheItemCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gocache.New(time.Hour, 0)
		p := pinwheel(t, cache.Options[string, int]{Expire: time.Hour})
		g.SetDefault("k", 1)
		p.Set("k", 1)
		time.Sleep(2 * time.Hour)
		want(t, "go-cache: ItemCount long after expiry", g.ItemCount(), 1)
		want(t, "ours: Len long after expiry", p.Len(), 0)
	})
}

package cache_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/base"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestStatsOfALoadThatHangs checks that the statistics show a load that hangs, and callers
// that gave up.
func TestStatsOfALoadThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Limit: 100})
		defer c.Close(t.Context())
		release := make(chan struct{})
		take := func(key int, wait time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			_, _ = c.TakeCtx(ctx, key, func(context.Context) (int, error) { <-release; return 1, nil })
		}
		want := func(running int, oldest time.Duration, abandoned uint64) {
			t.Helper()
			synctest.Wait()
			if l := c.Stats().Loads; l.Running != running || l.Oldest != oldest || l.Abandoned != abandoned {
				t.Errorf("%d running, the oldest for %v, %d gave up; want %d, %v, %d", l.Running, l.Oldest, l.Abandoned, running, oldest, abandoned)
			}
		}
		go take(1, 2*time.Second)
		time.Sleep(time.Second)
		go take(2, 2*time.Hour)
		want(2, time.Second, 0)
		time.Sleep(time.Second)
		want(2, 2*time.Second, 1)
		take(1, time.Second) // waits until the load that nobody waits for has ended
		want(2, 3*time.Second, 2)
		close(release)
		want(0, 0, 2)
		if v, ok := c.Peek(1); v != 1 || !ok {
			t.Errorf("a load that nobody waited for has left %d, %v", v, ok)
		}
	})
}

// TestStatsOfACallbackThatHangs checks that the statistics show a callback that hangs, and
// the entries that cannot be removed meanwhile.
func TestStatsOfACallbackThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := cache.Must(cache.Options[int, int]{
			Expire: time.Minute, Workers: 2,
			OnRemove: func(e cache.Event[int, int]) { <-release },
		})
		const entries = 10_000
		for key := range entries {
			c.Set(key, 0)
		}
		want := func(running int, oldest time.Duration, overdue, entries int) {
			t.Helper()
			if s := c.Stats(); s.Callbacks.Running != running || s.Callbacks.Oldest != oldest || s.Expiry.Overdue != overdue || s.Entries != entries {
				t.Errorf("%+v, %d overdue of %d; want %d, the oldest for %v, and %d of %d", s.Callbacks, s.Expiry.Overdue, s.Entries, running, oldest, overdue, entries)
			}
		}
		time.Sleep(50 * time.Second)
		want(0, 0, 0, entries)
		c.Del(0)
		time.Sleep(time.Second)
		want(1, time.Second, 0, entries-1)
		time.Sleep(2 * time.Minute)
		left := c.Len() // what could not be removed
		want(2, 2*time.Minute+time.Second, left, left)
		close(release)
		time.Sleep(2 * time.Second)
		want(0, 0, 0, 0)
		if late := c.Stats().Expiry.Lateness.Quantile(1); left == 0 || late < 30*time.Second {
			t.Errorf("%d entries could not be removed, and then the last was late by %v", left, late)
		}
		cache.MustClose(t, c)
	})
}

// TestAmend checks that what Amend adds is in Stats and in package stats.
func TestAmend(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{Name: "amended"})
	cache.For(c).Amend(base.Owner{Amend: func(s *stats.Snapshot) { s.Misses += 10; s.Near.Changes = 3 }})
	defer c.Close(context.Background())
	c.Get(1)
	all := stats.Caches()
	i := slices.IndexFunc(all, func(n stats.Named[stats.Snapshot]) bool { return n.Name == "amended" })
	if i < 0 {
		t.Fatalf("it is not among %v", all)
	}
	for _, s := range []stats.Snapshot{c.Stats(), all[i].Snapshot} {
		if s.Misses != 11 || s.Near.Changes != 3 {
			t.Errorf("%+v", s)
		}
	}
}

// TestStatsOfANewCache: the zero Snapshot is that of a new cache, also to ==.
func TestStatsOfANewCache(t *testing.T) {
	if got := cache.Must(cache.Options[int, int]{}).Stats(); got != (stats.Snapshot{}) {
		t.Errorf("the statistics of a new cache are %+v", got)
	}
}

package cache_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestStatsOfALoadThatHangs checks that the statistics show a load that hangs, and callers
// that gave up.
func TestStatsOfALoadThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Limit: 100})
		defer c.Close(t.Context())
		release := make(chan struct{})
		fetch := func(context.Context) (int, error) { <-release; return 1, nil }
		take := func(key int, wait time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			if _, err := c.TakeCtx(ctx, key, fetch); wait < time.Hour && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("key %d: %v", key, err)
			}
		}
		want := func(running int, oldest time.Duration, abandoned uint64) {
			t.Helper()
			synctest.Wait()
			if l := c.Stats().Loads; l.Running != running || l.Oldest != oldest || l.Abandoned != abandoned {
				t.Errorf("%d running, the oldest for %v, %d gave up; want %d, %v, %d", l.Running, l.Oldest, l.Abandoned, running, oldest, abandoned)
			}
		}
		want(0, 0, 0)
		go take(1, 2*time.Second)
		time.Sleep(time.Second)
		go take(1, 2*time.Second) // joins
		go take(2, 2*time.Hour)
		want(2, time.Second, 0)
		time.Sleep(500 * time.Millisecond)
		want(2, 1500*time.Millisecond, 0)
		time.Sleep(time.Second)
		want(2, 2500*time.Millisecond, 1)
		time.Sleep(time.Second)
		want(2, 3500*time.Millisecond, 2)
		go take(1, time.Second) // waits until the load that nobody waits for has ended
		time.Sleep(2 * time.Second)
		want(2, 5500*time.Millisecond, 3)
		close(release)
		want(0, 0, 3)
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
		time.Sleep(50 * time.Second)
		s := c.Stats()
		if s.Callbacks.Running != 0 || s.Callbacks.Oldest != 0 || s.Expiry.Overdue != 0 {
			t.Errorf("%+v, %d overdue before anything expired", s.Callbacks, s.Expiry.Overdue)
		}
		c.Del(0)
		time.Sleep(time.Second)
		if s = c.Stats(); s.Callbacks.Running != 1 || s.Callbacks.Oldest != time.Second {
			t.Errorf("%+v, want one call that runs for 1 s", s.Callbacks)
		}
		time.Sleep(2 * time.Minute)
		s = c.Stats()
		if s.Callbacks.Running != 2 || s.Callbacks.Oldest != 2*time.Minute+time.Second {
			t.Errorf("%+v, want two calls, the older for 2 min 1 s", s.Callbacks)
		}
		if s.Expiry.Overdue == 0 || s.Expiry.Overdue != s.Entries {
			t.Errorf("%d of %d entries are overdue, want all", s.Expiry.Overdue, s.Entries)
		}
		close(release)
		time.Sleep(2 * time.Second)
		s = c.Stats()
		if s.Callbacks.Running != 0 || s.Callbacks.Oldest != 0 || s.Expiry.Overdue != 0 || s.Entries != 0 || s.Expiry.Lateness.Quantile(1) < 30*time.Second {
			t.Errorf("afterwards: %+v, %d overdue of %d, at most %v late", s.Callbacks, s.Expiry.Overdue, s.Entries, s.Expiry.Lateness.Quantile(1))
		}
		cache.MustClose(t, c)
	})
}

// TestAmend checks that what the option Amend adds is in Stats and in package stats.
func TestAmend(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{Name: "amended", Amend: func(s *stats.Snapshot) { s.Misses += 10; s.Near.Changes = 3 }})
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

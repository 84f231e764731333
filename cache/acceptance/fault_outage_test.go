package acceptance

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// A database hangs, fails for an hour or panics, and callers of a cache with Grace notice
// nothing.
//
// Catches: callers that wait for a load which cannot end; a load begun for each caller;
// a database that is down and asked without a pause; a panic in the background that ends
// the process; a refresh that stops for good after a failure.
func TestOutage(t *testing.T) {
	const outage = time.Hour
	down := errors.New("down")
	for name, fetch := range map[string]func(ctx context.Context) (int, error){
		"fails":  func(context.Context) (int, error) { return 0, down },
		"panics": func(context.Context) (int, error) { panic("down") },
		"hangs":  func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
		"hangs, deaf": func(context.Context) (int, error) {
			time.Sleep(outage)
			return 0, down
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { databaseIsDown(t, outage, fetch) })
		})
	}
}

func databaseIsDown(t *testing.T, outage time.Duration, fetch func(context.Context) (int, error)) {
	var asked atomic.Int64
	c := New(t, cache.Options[string, int]{
		Expire: time.Minute, Refresh: 0.8, Grace: 2 * outage, Patience: 50 * time.Millisecond, Timeout: time.Second,
		OnPanic: func(any, []byte) {},
	})
	c.Set("k", 1)
	for range 3600 {
		time.Sleep(outage / 3600)
		began := time.Now()
		v, err := c.TakeCtx(t.Context(), "k", func(ctx context.Context) (int, error) { asked.Add(1); return fetch(ctx) })
		if v != 1 || err != nil || time.Since(began) > 50*time.Millisecond { // fake time
			t.Fatalf("TakeCtx = %d, %v after %v", v, err, time.Since(began))
		}
	}
	if n := asked.Load(); n < 1 || n > 80 {
		t.Errorf("the database was asked %d times in an hour", n)
	}
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	for range 2 {
		c.TakeCtx(t.Context(), "k", func(context.Context) (int, error) { return 2, nil })
		synctest.Wait()
	}
	if v, ok := c.Get("k"); v != 2 || !ok {
		t.Errorf("after the outage: %d, %v", v, ok)
	}
	MustClose(t, c)
}

// A hundred thousand callers of a key that is slow to load get the value in Grace, and
// there is one load. With one place for loads, those nested in it need none.
//
// Catches: a load for each of some callers; callers without patience that wait; nested
// loads that wait for the place of the load around them.
func TestSlowKey(t *testing.T) {
	n := Scaled(100_000)
	if settle.UnderRace() {
		n = min(n, 6000) // it ends the process at 8128
	}
	synctest.Test(t, func(t *testing.T) {
		c := New(t, cache.Options[string, int]{Expire: time.Minute, Grace: time.Hour, MaxLoads: 1})
		c.Set("k", 1)
		time.Sleep(2 * time.Minute)
		var fetches, stale atomic.Int64
		leaf := func(context.Context) (int, error) { return 2, nil }
		Together(n, func(int) {
			v, err := c.TakeCtx(context.Background(), "k", func(ctx context.Context) (int, error) {
				fetches.Add(1)
				time.Sleep(time.Second)
				return c.TakeCtx(ctx, "leaf", func(ctx context.Context) (int, error) { return c.TakeCtx(ctx, "below", leaf) })
			})
			if v == 1 && err == nil {
				stale.Add(1)
			}
		})
		if fetches.Load() != 1 || stale.Load() != int64(n) {
			t.Errorf("%d fetches, and %d of %d callers got the value", fetches.Load(), stale.Load(), n)
		}
		time.Sleep(2 * time.Second)
		if v, ok := c.Get("k"); v != 2 || !ok {
			t.Errorf("Get = %d, %v after the load", v, ok)
		}
		MustClose(t, c)
	})
}

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestTakeWithAfterAChange checks that after a change of the key the TTL that a load set
// is dropped with its value.
func TestTakeWithAfterAChange(t *testing.T) {
	c := cache.Must(cache.Options[string, int]{})
	c.TakeWith(t.Context(), "k", func(_ context.Context, l *cache.Load[int]) (int, error) {
		c.Set("k", 1)
		l.Expire = -1
		return 7, nil
	})
	if v, ok := c.Peek("k"); v != 1 || !ok {
		t.Errorf("a load that is not to be kept undid a Set: %d, %v", v, ok)
	}
}

// TestUnchangedWithoutOld checks that Unchanged without Old is an error that says what to
// do, and that nothing is stored.
func TestUnchangedWithoutOld(t *testing.T) {
	c := cache.Must(cache.Options[string, int]{})
	_, err := c.TakeWith(t.Context(), "k", func(_ context.Context, l *cache.Load[int]) (int, error) {
		l.Unchanged = true
		return 7, nil
	})
	if !strings.Contains(fmt.Sprint(err), "says Unchanged") || c.Len() != 0 {
		t.Errorf("%v, and %d entries", err, c.Len())
	}
}

// TestBaseTake checks that a Get and the Take of For(c) after it count as one get, that a
// hit allocates nothing, and that a value stored between the two is found.
func TestBaseTake(t *testing.T) {
	c := cache.Must(cache.Options[string, int]{})
	value := 7
	take := func(key string) int {
		if v, ok := c.Get(key); ok {
			return v
		}
		v, err := cache.For(c).Take(t.Context(), key, func(_ context.Context, l *cache.Load[int]) (int, error) {
			l.Expire = time.Hour
			return value, nil
		})
		if err != nil {
			t.Error(err)
		}
		return v
	}
	if v := take("k"); v != 7 {
		t.Errorf("a miss gives %d", v)
	}
	if n := testing.AllocsPerRun(10, func() { take("k") }); n != 0 {
		t.Errorf("a hit allocates %v times", n)
	}
	if s := c.Stats(); s.Hits != 11 || s.Misses != 1 || s.Loads.OK.Count() != 1 {
		t.Errorf("%d hits, %d misses, %d loads; want 11, 1 and 1", s.Hits, s.Misses, s.Loads.OK.Count())
	}
	c.Set("other", 8)
	if v, err := cache.For(c).Take(t.Context(), "other", func(context.Context, *cache.Load[int]) (int, error) { return 9, nil }); v != 8 || err != nil {
		t.Errorf("a key that has a value by now gives %d, %v", v, err)
	}
}

// TestBaseTakeMany checks that one call of fetch, or of LoadMany, gives each key a value with its own TTL,
// an error that is kept, one that is not, or nothing.
func TestBaseTakeMany(t *testing.T) {
	t.Run("TakeMany", func(t *testing.T) { testBaseMany(t, false) })
	t.Run("FetchMany", func(t *testing.T) { testBaseMany(t, true) })
}

func testBaseMany(t *testing.T, once bool) {
	synctest.Test(t, func(t *testing.T) {
		keys := []string{"here", "hour", "second", "unstored", "none", "failed", "left out"}
		none, failed := errors.New("none"), errors.New("failed")
		load := func(_ context.Context, missing []string, loads []*cache.Load[int]) (map[string]int, error) {
			if !slices.Equal(missing, keys[1:]) {
				t.Errorf("fetch gets %q", missing)
			}
			loads[1].Expire, loads[2].Expire, loads[3].NotFound = time.Second, -1, true
			loads[3].Err, loads[4].Err = none, failed
			return map[string]int{"hour": 2, "second": 3, "unstored": 4, "here": 9}, nil
		}
		c := cache.Must(cache.Options[string, int]{Expire: time.Hour, LoadMany: load, Negative: func(err error) time.Duration {
			if err == none {
				return time.Minute
			}
			return 0
		}})
		defer c.Close(t.Context())
		c.Set("here", 1)
		base := cache.For(c)
		take := base.FetchMany
		if !once {
			take = func(ctx context.Context, keys []string) (map[string]int, map[string]error) {
				return base.TakeMany(ctx, keys, load)
			}
		}
		got, errs := take(t.Context(), keys)
		if want := map[string]int{"here": 1, "hour": 2, "second": 3, "unstored": 4}; !maps.Equal(got, want) || len(errs) != 1 || errs["failed"] != failed {
			t.Errorf("%v, %v; want %v, and that one failed", got, errs, want)
		}
		time.Sleep(time.Second)
		for key, want := range map[string]bool{"here": true, "hour": true, "second": false, "unstored": false, "none": false, "left out": false} {
			if _, ok := c.Peek(key); ok != want {
				t.Errorf("%s is there: %t", key, ok)
			}
		}
		if _, err := c.TakeCtx(t.Context(), "none", func(context.Context) (int, error) { return 0, nil }); err != none {
			t.Errorf("the error is not kept: %v", err)
		}
		if s := c.Stats(); s.Hits != 1 || s.Misses != 7 || s.Loads.OK.Count() != 0 || s.Loads.Failed.Count() != 1 {
			t.Errorf("%d hits, %d misses, %d loads and %d failed; want 1, 7, and one load that failed", s.Hits, s.Misses, s.Loads.OK.Count(), s.Loads.Failed.Count())
		}
	})
}

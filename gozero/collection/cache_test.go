package collection_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/gozero/collection"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// The differences from go-zero's cache are tested in proof/gozero, beside it.

func newCache(t *testing.T, expire time.Duration, opts ...collection.CacheOption) *collection.Cache {
	t.Helper()
	c, err := collection.NewCache(expire, opts...)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close(context.Background())) })
	return c
}

func keys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprint("key", i))
	}
	return keys
}

// found returns how many of the keys have a value.
func found(c *collection.Cache, keys []string) (n int) {
	for _, key := range keys {
		if _, ok := c.Get(key); ok {
			n++
		}
	}
	return n
}

// TestCacheJitter checks that keys with one TTL do not expire at once. TestCacheDiffers of
// proof/gozero checks that all expire between 95 % and 105 % of it.
func TestCacheJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, 100*time.Second)
		set, taken := keys(2000)[:1000], keys(2000)[1000:]
		for i := range set {
			c.Set(set[i], 1)
			_, _ = c.Take(taken[i], func() (any, error) { return 1, nil })
		}
		time.Sleep(100 * time.Second)
		for _, half := range [][]string{set, taken} {
			if n := found(c, half); n < 350 || n > 650 {
				t.Errorf("%d of 1000 keys after 100 s, want about half", n)
			}
		}
	})
}

func TestCacheLimit(t *testing.T) {
	for limit, want := range map[int]int{-1: 100, 0: 100, 1: 1, 10: 10} {
		limited(t, want, nil, collection.WithLimit(limit))
	}
	for limit, want := range map[int]int{-1: 5, 0: 5, 10: 10} {
		limited(t, want, collection.WithLimit(5), collection.WithLimit(limit))
	}
}

// limited checks that a cache with the options holds want of 100 keys.
func limited(t *testing.T, want int, opts ...collection.CacheOption) {
	t.Helper()
	c := newCache(t, time.Hour, opts...)
	for _, key := range keys(100) {
		c.Set(key, 1)
		if _, ok := c.Get(key); !ok {
			t.Error("the newest key is not there")
		}
	}
	wantSame(t, "entries", c.Len(), want)
}

func TestCacheName(t *testing.T) {
	newCache(t, time.Hour, collection.WithName("a"), collection.WithName("sessions"))
	newCache(t, time.Hour)
	newCache(t, time.Hour, collection.WithName(""))
	var names []string
	for _, c := range stats.Caches() {
		names = append(names, c.Name)
	}
	for _, want := range []string{"sessions", "proc", "proc-2"} {
		if !slices.Contains(names, want) {
			t.Errorf("statistics have %q, want %q", names, want)
		}
	}
}

// TestCacheTakeError checks that with an error Take returns no value, as in go-zero.
func TestCacheTakeError(t *testing.T) {
	failed := errors.New("failed")
	if v, err := newCache(t, time.Hour).Take("x", func() (any, error) { return "half done", failed }); v != nil || err != failed {
		t.Errorf("%v, %v, want nil and the error", v, err)
	}
}

// TestCacheClose checks Close, which go-zero's cache does not have.
func TestCacheClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := collection.NewCache(time.Hour)
		must(t, err)
		c.Set("x", 1)
		go func() {
			_, _ = c.Take("y", func() (any, error) { time.Sleep(time.Second); return 1, nil })
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), ms)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close with a fetch under way: %v", err)
		}
		must(t, c.Close(context.Background()))
		c.Set("z", 1)
		if n := found(c, []string{"x", "y", "z"}); n != 0 || c.Len() != 0 {
			t.Errorf("a closed cache has %d keys", c.Len())
		}
		if v, err := c.Take("x", func() (any, error) { return 3, nil }); v != 3 || err != nil {
			t.Errorf("Take of a closed cache: %v, %v", v, err)
		}
	})
}

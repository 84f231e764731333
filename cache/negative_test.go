package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

var errNotFound = errors.New("not found")

// forASecond is a Negative that keeps errNotFound.
func forASecond(err error) time.Duration {
	if errors.Is(err, errNotFound) {
		return time.Second
	}
	return -1
}

// A negativeTest counts the fetches of a cache that keeps errors.
type negativeTest struct {
	*cache.Cache[string, int]
	fetches int
}

// take takes "k" by a fetch that fails, and wants it called, or not.
func (n *negativeTest) take(t *testing.T, fails error, want error, fetched bool) {
	t.Helper()
	before := n.fetches
	fetch := func() (int, error) { n.fetches++; return 0, fails }
	v, err := n.Take("k", fetch)
	if n.fetches%2 == 0 && fetched { // by another of the Takes now and then
		n.Del("k")
		v, err = n.TakeCtx(context.Background(), "k", func(context.Context) (int, error) { return fetch() })
	}
	if v != 0 || err != want || n.fetches > before != fetched {
		t.Errorf("%d, %v after %d fetches; want %v, fetched %v", v, err, n.fetches-before, want, fetched)
	}
}

// TestNegative checks that an error is kept for as long as Negative says, for all Takes
// and only for them.
func TestNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &negativeTest{Cache: cache.Must(cache.Options[string, int]{Negative: forASecond})}
		wrapped := fmt.Errorf("user k: %w", errNotFound)
		n.take(t, wrapped, wrapped, true)
		n.take(t, nil, wrapped, false)
		if _, err := n.TakeWith(t.Context(), "k", noFetch); err != wrapped {
			t.Errorf("TakeWith = %v", err)
		}
		if _, ok := n.Get("k"); ok || n.Len() != 0 || n.Stats().Sets != 0 {
			t.Error("a kept error is a value")
		}
		time.Sleep(time.Second - 1)
		n.take(t, nil, wrapped, false)
		time.Sleep(time.Nanosecond)
		other := errors.New("other")
		n.take(t, other, other, true)
		n.take(t, other, other, true)
		// An error that is kept is an answer.
		if l := n.Stats().Loads; l.OK.Count() != 1 || l.Failed.Count() != 4 {
			t.Errorf("%d loads brought an answer and %d failed, want 1 and 4", l.OK.Count(), l.Failed.Count())
		}
	})
}

func noFetch(context.Context, *cache.Load[int]) (int, error) { return 0, nil }

// TestNegativeEndsWithAChange checks that every change of the key ends a kept error, and
// that the error of a load that began before a change is not kept.
func TestNegativeEndsWithAChange(t *testing.T) {
	for name, change := range map[string]func(c *cache.Cache[string, int]){
		"Set":   func(c *cache.Cache[string, int]) { c.Set("k", 1); c.Del("k") },
		"Del":   func(c *cache.Cache[string, int]) { c.Del("k") },
		"Clear": func(c *cache.Cache[string, int]) { c.Clear() },
		"Compute": func(c *cache.Cache[string, int]) {
			c.Compute("k", func(int, bool) (int, cache.Op) { return 0, cache.OpDelete })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &negativeTest{Cache: cache.Must(cache.Options[string, int]{Negative: forASecond})}
				n.take(t, errNotFound, errNotFound, true)
				change(n.Cache)
				n.take(t, errNotFound, errNotFound, true)
				n.Del("k")
				n.Take("k", func() (int, error) { change(n.Cache); return 0, errNotFound })
				n.take(t, errNotFound, errNotFound, true)
			})
		})
	}
}

// TestErrorsThatAreNeverKept checks that errors that say how a load ended, and not what it
// found, are not kept even if Negative says so.
func TestErrorsThatAreNeverKept(t *testing.T) {
	c := cache.Must(cache.Options[string, int]{Negative: func(error) time.Duration { return time.Hour }})
	defer c.Close(t.Context())
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, cache.ErrTimeout, cache.ErrGoexit, &cache.PanicError{}} {
		for range 2 {
			fetched := false
			c.Take("k", func() (int, error) { fetched = true; return 0, fmt.Errorf("fetch: %w", err) })
			if !fetched {
				t.Errorf("%v was kept", err)
			}
		}
	}
	func() {
		defer func() { recover() }()
		c.Take("k", func() (int, error) { panic("oops") })
	}()
	if v, err := c.Take("k", func() (int, error) { return 7, nil }); v != 7 || err != nil {
		t.Errorf("after a panic: %d, %v", v, err)
	}
}

// TestFloodOfUnknownKeys checks that kept errors evict no values and stay within their
// share, also after a Resize, and that their memory is freed.
func TestFloodOfUnknownKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{Limit: 80, Negative: forASecond})
		for key := range 80 {
			c.Set(key, key)
		}
		flood := func(want int) {
			t.Helper()
			for key := range 1000 {
				c.Take(-1-key, func() (int, error) { return 0, errNotFound })
			}
			if got := c.Stats().Negatives; got != want {
				t.Errorf("%d errors are kept, want %d", got, want)
			}
		}
		flood(10)
		if c.Len() != 80 || c.Stats().Removals.Evicted != 0 {
			t.Errorf("%d values are left of 80", c.Len())
		}
		for _, limit := range []int{800, 80, 800} {
			if err := c.Resize(limit); err != nil {
				t.Fatal(err)
			}
			flood(limit / 8)
		}
		time.Sleep(2 * time.Second)
		if got := c.Stats().Negatives; got != 0 {
			t.Errorf("%d errors are kept after their time", got)
		}
		flood(100)
		if err := c.Close(t.Context()); err != nil || c.Stats().Negatives != 0 {
			t.Errorf("Close: %v, and %d errors are kept", err, c.Stats().Negatives)
		}
		c.Take(1, func() (int, error) { return 0, errNotFound })
		if c.Stats().Negatives != 0 {
			t.Error("a closed cache keeps an error")
		}
	})
}

// Package pinwheel_test begins with the seven promises of the cache, a test for each
// that shows what it means. cache/acceptance tries them from all sides.
package pinwheel_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

// 1. Exact reads: Get never returns a value at its deadline or after.
func TestExactReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Expire: time.Minute})
		c.Set("x", 1)
		time.Sleep(time.Minute - 1)
		if v, ok := c.Get("x"); v != 1 || !ok {
			t.Errorf("before its deadline: %d, %t", v, ok)
		}
		time.Sleep(time.Nanosecond)
		if v, ok := c.Get("x"); ok {
			t.Errorf("at its deadline: %d", v)
		}
	})
}

// 2. Synchronous and bounded: Get sees what Set has stored, and the limit holds.
func TestSynchronousAndBounded(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{Limit: 10})
	for i := range 1000 {
		c.Set(i, i)
		if v, ok := c.Get(i); v != i || !ok {
			t.Fatalf("Get(%d) after Set: %d, %t", i, v, ok)
		}
		if n := c.Len(); n > 10 {
			t.Fatalf("%d entries, want at most 10", n)
		}
	}
}

// 3. No lost, no immortal, no resurrected entry: a load that began before a Del of its
// key does not store over it.
func TestNoResurrection(t *testing.T) {
	c := cache.Must(cache.Options[string, int]{})
	v, err := c.Take("x", func() (int, error) {
		c.Del("x")
		return 1, nil
	})
	if v != 1 || err != nil {
		t.Errorf("Take: %d, %v; want its own result", v, err)
	}
	if v, ok := c.Get("x"); ok {
		t.Errorf("after Del: %d", v)
	}
}

// 4. Take fetches once for all callers of a key at a time.
func TestOneFetchForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{})
		fetches := 0
		results := make(chan int)
		for range 100 {
			go func() {
				v, err := c.Take("x", func() (int, error) {
					fetches++
					time.Sleep(time.Second)
					return 7, nil
				})
				if err != nil {
					t.Error(err)
				}
				results <- v
			}()
		}
		for range 100 {
			if v := <-results; v != 7 {
				t.Errorf("a caller got %d", v)
			}
		}
		if fetches != 1 {
			t.Errorf("%d fetches", fetches)
		}
	})
}

// 5. OnRemove hears of each removed value once, with its cause; Close waits for it.
func TestRemovedValuesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []cache.Event[string, int]
		c := cache.Must(cache.Options[string, int]{
			Expire: time.Minute, Workers: 1,
			OnRemove: func(e cache.Event[string, int]) { events = append(events, e) },
		})
		c.Set("x", 1)
		c.Set("x", 2)
		c.Del("x")
		c.Set("x", 3)
		time.Sleep(2 * time.Minute)
		c.Set("x", 4)
		must(t, c.Close(context.Background()))
		want := []cache.Event[string, int]{
			{Key: "x", Value: 1, Cause: cache.Replaced},
			{Key: "x", Value: 2, Cause: cache.Deleted},
			{Key: "x", Value: 3, Cause: cache.Expired},
			{Key: "x", Value: 4, Cause: cache.Cleared},
		}
		if !slices.Equal(events, want) {
			t.Errorf("events %v, want %v", events, want)
		}
	})
}

// 6. Nothing runs when nothing is to be done. The end of the bubble fails the test if a
// goroutine is left, though nobody closed the cache.
func TestNothingIsLeftRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Expire: time.Minute})
		c.Set("x", 1)
		time.Sleep(2 * time.Minute)
		if n := c.Len(); n != 0 {
			t.Errorf("%d entries", n)
		}
	})
}

// 7. Bad input is an error of New that says what and why.
func TestBadInputIsAnError(t *testing.T) {
	for _, o := range []cache.Options[string, int]{
		{Limit: -1},
		{Jitter: 1},
		{Expire: 3600}, // a forgotten unit
		{MaxWeight: 10},
	} {
		if c, err := cache.New(o); err == nil || c != nil || err.Error() == "" {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

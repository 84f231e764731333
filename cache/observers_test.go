package cache

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBlockedCallers checks that the callers that wait for OnRemove are counted, and that a
// tick that waits too is not: it is nobody's.
func TestBlockedCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		c := Must(Options[int, int]{Workers: 1, Expire: time.Minute, OnRemove: func(Event[int, int]) { <-answer }})
		check := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := c.Stats().Callbacks.Blocked; got != want {
				t.Errorf("%s: %d callers are blocked, want %d", when, got, want)
			}
		}
		for i := range backlog + 1 { // one call runs, and as many are queued as may be
			c.SetWithExpire(1, i, 0)
		}
		c.SetWithExpire(1, 0, 0)
		c.Set(2, 2)
		check("before the queue is full", 0)
		for i := range 3 {
			go c.SetWithExpire(1, i, 0)
		}
		check("three callers set", 3)
		time.Sleep(2 * time.Minute) // 2 expires
		check("a tick", 3)
		close(answer)
		check("the calls end", 0)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestYieldBesideResize checks that a cache with Elastic that yields, and so waits for OnRemove,
// does not keep OnRemove from calling ResizeWeight.
func TestYieldBesideResize(t *testing.T) {
	const entries = 3 * backlog
	var c *Cache[int, int]
	resized := make(chan error, entries)
	c = Must(Options[int, int]{
		MaxWeight: entries, Weigh: func(int, int) uint32 { return 1 }, Elastic: true, Workers: 1,
		OnRemove: func(Event[int, int]) { resized <- c.ResizeWeight(entries) },
	})
	for i := range entries {
		c.Set(i, i)
	}
	done := make(chan struct{})
	go func() { defer close(done); (*holder[int, int])(c).Hold(1) }()
	for range entries - 1 {
		select {
		case err := <-resized:
			if err != nil {
				t.Fatal(err)
			}
		case <-done: // ResizeWeight has ended the evictions
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			return
		case <-time.After(time.Minute):
			t.Fatal("OnRemove waits for the cache, which waits for OnRemove")
		}
	}
}

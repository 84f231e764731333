package cache

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestCallbackFetchesInAGoroutine checks that a fetch for which OnRemove waits does not
// wait for OnRemove, although it runs in another goroutine and removes values.
func TestCallbackFetchesInAGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetched := false
		var c *Cache[int, int]
		c = Must(Options[int, int]{Workers: 1, OnRemove: func(e Event[int, int]) {
			if e.Key != 0 {
				return
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, err := c.TakeCtx(ctx, -1, func(context.Context) (int, error) {
				for i := range 2 * backlog {
					c.Set(1, i)
				}
				return 1, nil
			})
			fetched = err == nil
		}})
		c.Set(0, 0)
		c.Del(0)
		synctest.Wait()
		if !fetched {
			t.Fatal("the callback waits for itself")
		}
		mustClose(t, c)
	})
}

// TestFetchThatLeavesItsThreadLocked checks that such a thread, which may have another user or network
// by then, runs no later load.
func TestFetchThatLeavesItsThreadLocked(t *testing.T) {
	c := Must(Options[int, int]{Limit: 10})
	defer mustClose(t, c)
	ctx, cancel := context.WithCancel(t.Context()) // it can end, so loads have goroutines of their own
	defer cancel()
	fetched := 0
	for key := range 20 {
		_, _ = c.TakeCtx(ctx, key, func(context.Context) (int, error) {
			stack := make([]byte, 100)
			if header, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte("\n")); bytes.Contains(header, []byte("locked to thread")) {
				t.Errorf("load %d is %s", key, header)
			}
			runtime.LockOSThread()
			fetched++
			return 1, nil
		})
	}
	if fetched != 20 {
		t.Errorf("%d fetches", fetched)
	}
}

// TestExpiresWhileACallerIsAssigned checks that, in a cache without Grace, a value that
// expires between two looks of a caller is not taken for one in Grace.
func TestExpiresWhileACallerIsAssigned(t *testing.T) {
	c := Must(Options[int, int]{Expire: time.Minute})
	for n := range 20_000 {
		c.Set(1, 1)
		h := c.common.hasher.Hash(1)
		s := c.common.lock(h)
		i, _ := s.find(h, 1)
		s.entries[i].deadline.Set(c.common.time.clock.Now() + int64(n%300))
		var a assignment[int, int]
		if s.assign(&a, h, 1, aPlainTake(), nil); a.inGrace {
			t.Error("a value is in Grace")
		}
		s.pending.loads, s.pending.loading = nil, 0
		s.lock.Unlock()
	}
}

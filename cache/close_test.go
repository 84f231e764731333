package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestCloseInFunctionsOfALoad checks that Close called by a fetch, or by another function
// that a load calls, closes the cache and returns an error instead of waiting for itself.
func TestCloseInFunctionsOfALoad(t *testing.T) {
	failed := errors.New("failed")
	for _, where := range []string{"fetch", "Weigh", "Negative", "DelFunc"} {
		for how, ends := range map[string]bool{
			"inline":         false,
			"in a goroutine": true,
		} {
			t.Run(where+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var c *cache.Cache[int, int]
					calls := 0
					closes := func(at string) {
						if at != where {
							return
						}
						calls++
						if err := c.Close(t.Context()); !strings.Contains(fmt.Sprint(err), "Close called by a fetch") || !cache.For(c).Closed() {
							t.Errorf("Close returned %v, closed is %v", err, cache.For(c).Closed())
						}
					}
					c = cache.Must(cache.Options[int, int]{MaxWeight: 10,
						Weigh:    func(int, int) uint32 { closes("Weigh"); return 1 },
						Negative: func(error) time.Duration { closes("Negative"); return 0 },
					})
					ctx := context.Background()
					if ends {
						ctx = t.Context()
					}
					go c.TakeCtx(ctx, 1, func(context.Context) (int, error) {
						time.Sleep(time.Second)
						closes("fetch")
						if where == "Negative" {
							return 0, failed
						}
						return 1, nil
					})
					synctest.Wait()
					c.DelFunc(func(int, int) bool { closes("DelFunc"); return false })
					time.Sleep(time.Second)
					synctest.Wait()
					if err := c.Close(t.Context()); err != nil || calls != 1 {
						t.Errorf("Close returned %v, and was called %d times before", err, calls)
					}
				})
			})
		}
	}
}

// TestCloseInAFetchOfAnotherCache checks that a fetch may close a cache that has no loads.
func TestCloseInAFetchOfAnotherCache(t *testing.T) {
	one, other := cache.Must(cache.Options[int, int]{}), cache.Must(cache.Options[int, int]{})
	if _, err := one.Take(1, func() (int, error) { return 1, other.Close(t.Context()) }); err != nil {
		t.Error(err)
	}
}

// TestCloseAgainInAFetch checks that Close called by a fetch of a cache that is closed
// already does not wait for OnRemove, which may wait for the fetch.
func TestCloseAgainInAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calling, fetching := make(chan struct{}), make(chan struct{})
		var c *cache.Cache[int, int]
		c = cache.Must(cache.Options[int, int]{MaxLoads: 1, Workers: 1, OnRemove: func(cache.Event[int, int]) {
			close(calling)
			<-fetching
			if v, err := c.Take(2, func() (int, error) { return 2, nil }); v != 2 || err != nil { // waits for the permit
				t.Errorf("Take in OnRemove = %d, %v", v, err)
			}
		}})
		c.Set(1, 1)
		go c.Close(t.Context())
		<-calling
		_, _ = c.Take(3, func() (int, error) {
			close(fetching)
			synctest.Wait()
			if err := c.Close(t.Context()); !strings.Contains(fmt.Sprint(err), "Close called by a fetch") {
				t.Errorf("Close returned %v", err)
			}
			return 3, nil
		})
		cache.MustClose(t, c)
	})
}

// TestWaitForCallbacks checks that Wait waits for OnRemove without closing the cache.
func TestWaitForCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		var c *cache.Cache[int, int]
		var inside error
		c = cache.Must(cache.Options[int, int]{Workers: 1, OnRemove: func(cache.Event[int, int]) {
			inside = c.Wait(context.Background())
			time.Sleep(time.Second)
			told++
		}})
		for k := range 3 {
			c.Set(k, k)
			c.Del(k)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if err := c.Wait(ctx); err == nil || err.Error() != "enough" {
			t.Errorf("Wait with too short a time: %v", err)
		}
		if err := c.Wait(t.Context()); err != nil || told != 3 {
			t.Errorf("Wait: %v, and OnRemove was told %d times", err, told)
		}
		if inside == nil {
			t.Error("Wait in a callback: no error")
		}
		if cache.For(c).Closed() {
			t.Error("it is closed")
		}
		if err := c.Close(t.Context()); err != nil || !cache.For(c).Closed() {
			t.Errorf("Close: %v, closed is %v", err, cache.For(c).Closed())
		}
	})
}

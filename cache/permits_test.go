package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestMaxLoads checks that at most MaxLoads fetches run at once; others wait, and give up
// when no caller waits for them.
func TestMaxLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[int, int]{MaxLoads: 2})
		var mu sync.Mutex
		running, most, fetched := 0, 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			fetched += max(n, 0)
			most = max(most, running)
		}
		fetch := func() (int, error) {
			count(1)
			defer count(-1)
			time.Sleep(time.Second)
			return 7, nil
		}
		began := time.Now()
		for key := range 10 {
			if key%2 == 0 {
				go c.Take(key, fetch)
			} else {
				go c.TakeCtx(t.Context(), key, func(context.Context) (int, error) { return fetch() })
			}
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if _, err := c.TakeCtx(ctx, 100, func(context.Context) (int, error) { t.Error("fetched for nobody"); return 0, nil }); err != context.DeadlineExceeded {
			t.Errorf("who waits for a permit: %v", err)
		}
		cache.MustClose(t, c)
		if took := time.Since(began); most != 2 || fetched != 10 || took != 5*time.Second {
			t.Errorf("%d at once, %d in all, in %v; want 2, 10, 5s", most, fetched, took)
		}
	})
}

// TestNestedLoads checks that with one permit a fetch can take other keys, also keys whose
// load waits for the permit.
func TestNestedLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{MaxLoads: 1})
		leaf := func(context.Context) (int, error) { time.Sleep(time.Second); return 1, nil }
		nested := func(keys ...string) func(context.Context) (int, error) {
			return func(ctx context.Context) (sum int, err error) {
				time.Sleep(time.Second)
				derived, cancel := context.WithCancel(ctx)
				defer cancel()
				for _, key := range keys {
					v, err := c.TakeCtx(derived, key, leaf)
					if err != nil {
						return 0, err
					}
					sum += v
				}
				return sum, nil
			}
		}
		began := time.Now()
		done := make(chan int)
		go func() {
			v, err := c.TakeCtx(t.Context(), "parent", nested("a", "b"))
			if err != nil {
				t.Error(err)
			}
			done <- v
		}()
		synctest.Wait()
		go c.TakeCtx(t.Context(), "a", leaf) // waits for the permit
		if v := <-done; v != 2 || time.Since(began) != 3*time.Second {
			t.Errorf("%d after %v, want 2 after 3s", v, time.Since(began))
		}
		if v, err := c.TakeCtx(t.Context(), "grandparent", nested("c")); v != 1 || err != nil {
			t.Errorf("%d, %v: is the permit free again?", v, err)
		}
	})
}

// TestPermitsOfTwoCaches checks that Timeout ends the wait of caches that load through each other, of
// which one waits for a permit that the other's caller has.
func TestPermitsOfTwoCaches(t *testing.T) {
	for name, timeouts := range map[string][2]time.Duration{"of the users": {time.Minute, 0}, "of the orders": {0, time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				users := cache.Must(cache.Options[int, int]{MaxLoads: 1, Timeout: timeouts[0]})
				orders := cache.Must(cache.Options[int, int]{Timeout: timeouts[1]})
				leaf := func(context.Context) (int, error) { return 7, nil }
				order := func(ctx context.Context) (int, error) {
					time.Sleep(time.Second)
					return users.TakeCtx(ctx, 2, leaf)
				}
				var calls sync.WaitGroup
				calls.Go(func() { _, _ = orders.TakeCtx(t.Context(), 5, order) })
				synctest.Wait()
				calls.Go(func() {
					_, _ = users.TakeCtx(t.Context(), 1, func(ctx context.Context) (int, error) { return orders.TakeCtx(ctx, 5, order) })
				})
				calls.Wait()
				if got, err := users.TakeCtx(t.Context(), 3, leaf); got != 7 || err != nil {
					t.Errorf("%d, %v afterwards", got, err)
				}
			})
		})
	}
}

// TestPermitsAndTheBacklogOfOnRemove checks that a load which waits for OnRemove to catch up
// has given its permit back: OnRemove may wait for it.
func TestPermitsAndTheBacklogOfOnRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var once sync.Once
		var c *cache.Cache[int, int]
		c = cache.Must(cache.Options[int, int]{Limit: 10, MaxLoads: 1, Workers: 1, OnRemove: func(e cache.Event[int, int]) {
			once.Do(func() {
				<-gate
				if v, err := c.Take(-1, func() (int, error) { return 7, nil }); v != 7 || err != nil {
					t.Errorf("Take in OnRemove = %d, %v", v, err)
				}
			})
		}})
		var calls sync.WaitGroup
		calls.Go(func() {
			for k := range cache.Backlog + 100 {
				c.Set(k%100, k)
			}
		})
		synctest.Wait()
		calls.Go(func() { // evicts, and waits for OnRemove
			_, _ = c.TakeCtx(t.Context(), 1000, func(context.Context) (int, error) { return 1, nil })
		})
		synctest.Wait()
		close(gate)
		calls.Wait()
		cache.MustClose(t, c)
	})
}

// TestTakeInFunctionsOfALoad checks that Weigh and Negative, and a function of DelFunc, may
// take another key, although their load had the only permit.
func TestTakeInFunctionsOfALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("failed")
		took := map[string]int{}
		var c *cache.Cache[string, int]
		take := func(key string) {
			if v, err := c.Take(key, func() (int, error) { return 7, nil }); v != 7 || err != nil {
				t.Errorf("Take(%q) = %d, %v", key, v, err)
			}
			took[key]++
		}
		c = cache.Must(cache.Options[string, int]{MaxLoads: 1, MaxWeight: 100,
			Weigh: func(key string, value int) uint32 {
				if key == "loaded" || key == "batch" {
					take("in Weigh")
				}
				return 1
			},
			Negative: func(error) time.Duration { take("in Negative"); return time.Hour }})
		go func() {
			if v, err := c.TakeCtx(t.Context(), "loaded", func(context.Context) (int, error) { time.Sleep(time.Second); return 1, nil }); v != 1 || err != nil {
				t.Errorf("TakeCtx = %d, %v", v, err)
			}
		}()
		synctest.Wait()
		c.DelFunc(func(string, int) bool { take("in DelFunc"); return false })
		time.Sleep(2 * time.Second)
		if _, err := c.Take("missing", func() (int, error) { return 0, failed }); err != failed {
			t.Errorf("Take = %v", err)
		}
		_, _ = c.TakeMany(t.Context(), []string{"batch", "mate"}, func(context.Context, []string) (map[string]int, error) {
			return map[string]int{"batch": 1, "mate": 2}, nil
		})
		for key, want := range map[string]int{"in Weigh": 2, "in Negative": 1, "in DelFunc": 1} {
			if took[key] != want {
				t.Errorf("%q was taken %d times, want %d", key, took[key], want)
			}
		}
	})
}

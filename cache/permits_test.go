package cache

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestMaxLoads checks that at most MaxLoads fetches run at once; others wait, and give up
// when no caller waits for them.
func TestMaxLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{MaxLoads: 2})
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
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); most != 2 || fetched != 10 || took != 5*time.Second {
			t.Errorf("%d at once, %d in all, in %v; want 2, 10, 5s", most, fetched, took)
		}
	})
}

// TestNestedLoads checks that with one permit a fetch can take other keys, also keys whose
// load waits for the permit.
func TestNestedLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[string, int]{MaxLoads: 1})
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

// TestPermitsOfFailures checks that a load that fails gives its permit back, and that one
// that hangs keeps it.
func TestPermitsOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Must(Options[int, int]{MaxLoads: 1, Timeout: time.Second})
		failed := errors.New("failed")
		for key := range 3 {
			func() {
				defer func() { recover() }()
				c.Take(key, func() (int, error) { panic("oops") })
			}()
			if _, err := c.Take(key, func() (int, error) { return 0, failed }); err != failed {
				t.Errorf("Take = %v after a panic", err)
			}
		}
		go c.Take(0, func() (int, error) { time.Sleep(time.Minute); return 0, nil })
		synctest.Wait()
		began := time.Now()
		if _, err := c.TakeCtx(t.Context(), 1, func(context.Context) (int, error) { return 0, nil }); err != ErrTimeout || time.Since(began) != time.Second {
			t.Errorf("%v after %v: the wait for a permit counts for Timeout", err, time.Since(began))
		}
		time.Sleep(time.Hour)
		if v, err := c.TakeCtx(t.Context(), 1, func(context.Context) (int, error) { return 7, nil }); v != 7 || err != nil {
			t.Errorf("TakeCtx = %d, %v", v, err)
		}
	})
}

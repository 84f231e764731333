package cache_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TestEndOfALoadsContext checks that the context of a fetch, and contexts derived from it,
// end as the context of the last caller did.
func TestEndOfALoadsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{})
		why, ended := errors.New("why"), 0
		fetch := func(ctx context.Context) (int, error) {
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			for name, ctx := range map[string]context.Context{"context": ctx, "child": child} {
				if err, cause := ctx.Err(), context.Cause(ctx); err != context.DeadlineExceeded || cause != why {
					t.Errorf("the %s ended with %v, %v", name, err, cause)
				}
			}
			ended++
			return 0, ctx.Err()
		}
		first, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel) // not the last, so its end does not matter
		go c.TakeCtx(first, "k", fetch)
		synctest.Wait()
		last, cancelLast := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancelLast()
		if _, err := c.TakeCtx(last, "k", fetch); err != why {
			t.Errorf("TakeCtx = %v", err)
		}
		if synctest.Wait(); ended != 1 {
			t.Errorf("%d fetches ended", ended)
		}
	})
}

// TestTimeout checks that callers leave at the Timeout, and later ones at once, while the
// fetch goes on; and that its value is kept, unless the key was changed. After a change the
// key is fetched anew at once.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Name: "slow", Timeout: time.Second})
		began := time.Now()
		fetch := func(ctx context.Context) (int, error) {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != time.Second {
				t.Errorf("the deadline is %v, %v", deadline, ok)
			}
			<-ctx.Done()
			if err, cause := ctx.Err(), context.Cause(ctx); err != context.DeadlineExceeded || !errors.Is(cause, cache.ErrTimeout) {
				t.Errorf("the context ended with %v, %v", err, cause)
			}
			time.Sleep(time.Minute)
			return 7, nil
		}
		go func() {
			_, err := c.TakeCtx(context.Background(), "k", fetch)
			if !errors.Is(err, cache.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("the first caller: %v after %v", err, time.Since(began))
			}
			if got := err.Error(); !regexp.MustCompile(`^cache "slow": the load of k \(hash [0-9a-f]{16}\) took longer than Timeout$`).MatchString(got) {
				t.Errorf("it gets the error %q", got)
			}
		}()
		synctest.Wait()
		late := func(after time.Duration) {
			t.Helper()
			if _, err := c.Take("k", func() (int, error) { return 0, nil }); !errors.Is(err, cache.ErrTimeout) || time.Since(began) != after {
				t.Errorf("Take = %v after %v, want ErrTimeout after %v", err, time.Since(began), after)
			}
		}
		late(time.Second)
		time.Sleep(time.Second)
		late(2 * time.Second)
		c.Set("k", 1)
		c.Del("k")
		if v, err := c.Take("k", func() (int, error) { return 3, nil }); v != 3 || err != nil {
			t.Errorf("Take = %d, %v after a change", v, err)
		}
		time.Sleep(time.Hour)
		if v, ok := c.Get("k"); v != 3 || !ok {
			t.Errorf("Get = %d, %v: a late load undid a change", v, ok)
		}
		c.Del("k")
		if _, err := c.TakeCtx(context.Background(), "k", fetch); !errors.Is(err, cache.ErrTimeout) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if v, ok := c.Get("k"); v != 7 || !ok {
			t.Errorf("Get = %d, %v after a late load", v, ok)
		}
	})
}

// TestTimeoutOfAnInlineFetch checks that at the Timeout the callers that joined leave a
// fetch that Take runs itself, and that the fetch counts as late also if all have left.
func TestTimeoutOfAnInlineFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.Must(cache.Options[string, int]{Timeout: time.Second})
		slow := func() (int, error) { time.Sleep(time.Minute); return 7, nil }
		go func() {
			if v, err := c.Take("k", slow); v != 7 || err != nil {
				t.Errorf("Take = %d, %v", v, err)
			}
		}()
		synctest.Wait()
		if _, err := c.Take("k", slow); !errors.Is(err, cache.ErrTimeout) {
			t.Errorf("who joined: %v", err)
		}
		time.Sleep(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		c.Del("k")
		c.TakeCtx(ctx, "k", func(context.Context) (int, error) { return slow() })
		if _, err := c.Take("k", slow); !errors.Is(err, cache.ErrTimeout) {
			t.Errorf("behind a fetch that everybody has left: %v", err)
		}
		time.Sleep(time.Hour)
	})
}

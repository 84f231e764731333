package near_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
)

// asked counts the reads of a store.
type asked struct {
	*memory.Store
	reads atomic.Int64
	takes atomic.Int64
}

func (a *asked) Lease(ctx context.Context, life time.Duration, keys ...string) ([]near.Item, error) {
	a.reads.Add(1)
	time.Sleep(time.Duration(a.takes.Load()))
	return a.Store.Lease(ctx, life, keys...)
}

// TestTakeWithin checks when a value in memory will do, and that a value that stands in while the store is away
// will not.
func TestTakeWithin(t *testing.T) {
	for _, ages := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &asked{Store: memory.New()}
			c, err := near.New(store, store.Store, near.Options[string, int]{Prefix: "k:", MaxLag: 3 * time.Second, ServeOn: time.Hour, Away: near.Fail, Cache: cache.Options[string, int]{Ages: ages}})
			must(t, err)
			defer c.Close(t.Context())
			synctest.Wait()
			take := func(age time.Duration, reads int64) {
				t.Helper()
				before := store.reads.Load()
				value, err := c.TakeWithin(t.Context(), "a", age, func(context.Context) (int, error) { return 7, nil })
				if value != 7 || err != nil || store.reads.Load()-before != reads {
					t.Errorf("TakeWithin %v = %d, %v with %d reads of the store, want 7, nil and %d (Ages: %t)", age, value, err, store.reads.Load()-before, reads, ages)
				}
			}
			take(time.Hour, 1)
			take(time.Hour, 0)
			take(0, 1)
			take(-1, 1)
			time.Sleep(800 * time.Millisecond) // the source has confirmed a moment 50 ms ago
			take(200*time.Millisecond, 0)
			take(20*time.Millisecond, 1)
			if ages {
				take(20*time.Millisecond, 0)
			}
			store.Fail(errors.New("away"))
			time.Sleep(time.Minute)
			if value, err := c.Take(t.Context(), "a", unused); value != 7 || err != nil {
				t.Errorf("ServeOn: %d, %v", value, err)
			}
			for _, age := range []time.Duration{0, 30 * time.Second} {
				if value, err := c.TakeWithin(t.Context(), "a", age, unused); !errors.Is(err, near.ErrStore) {
					t.Errorf("TakeWithin %v without the store = %d, %v", age, value, err)
				}
			}
			store.Fail(nil)
			time.Sleep(time.Minute)
			c.Get(t.Context(), "a") // begins a probe
			time.Sleep(time.Second)
			take(time.Hour, 1)
			store.takes.Store(int64(time.Second))
			store.Fail(errors.New("away"))
			time.Sleep(time.Minute)
			go c.Take(t.Context(), "a", unused)
			time.Sleep(time.Second / 2)
			if value, err := c.TakeWithin(t.Context(), "a", time.Second, unused); !errors.Is(err, near.ErrStore) {
				t.Errorf("TakeWithin that joins a Take for which an old value stands in = %d, %v", value, err)
			}
		})
	}
}

func unused(context.Context) (int, error) { return 0, errors.New("called without the store") }

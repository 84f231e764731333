package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
	"github.com/pinwheel-cache/pinwheel/near/neartest"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

var must = settle.Must

// A database counts how often it is asked.
type database struct{ value, asked atomic.Int64 }

func (db *database) load(context.Context) (int64, error) {
	db.asked.Add(1)
	return db.value.Load(), nil
}

// fleet returns n caches over a store, which have begun to watch it.
func fleet(t *testing.T, n int, o near.Options[string, int64]) (*memory.Store, []*near.Cache[string, int64]) {
	store, all := memory.New(), make([]*near.Cache[string, int64], n)
	for i := range all {
		var err error
		all[i], err = near.New(store, store, o)
		must(t, err)
		t.Cleanup(func() { must(t, all[i].Close(context.Background())) })
	}
	store.WaitFor(n)
	return store, all
}

// TestPromises proves the store and the source.
func TestPromises(t *testing.T) {
	neartest.Test(t, func(*testing.T) neartest.Subject {
		store := memory.New()
		foreign := func(ctx context.Context, key string, value []byte) error {
			if value == nil {
				return store.Del(ctx, key)
			}
			return store.Set(ctx, key, near.Item{State: near.Found, Value: value})
		}
		return neartest.Subject{Store: store, Source: store, Foreign: foreign, MaxLag: 100 * time.Millisecond}
	})
}

// Catches: a change that only some caches are told, or late; a value that its own Fill drives out.
func TestFleet(t *testing.T) {
	_, all := fleet(t, 3, near.Options[string, int64]{})
	var db database
	takes := func(what string, want, asked int64) {
		t.Helper()
		before := db.asked.Load()
		for range 2 {
			for i, c := range all {
				if got, err := c.Take(t.Context(), "k", db.load); err != nil || got != want {
					t.Errorf("%s: cache %d has %d, %v, want %d", what, i, got, err, want)
				}
			}
		}
		if got := db.asked.Load() - before; got != asked {
			t.Errorf("%s: the database was asked %d times, want %d", what, got, asked)
		}
	}
	takes("at first", 0, 1)
	if hits := all[0].Stats().Hits; hits != 1 {
		t.Errorf("the cache that loaded has %d hits, want 1", hits)
	}
	db.value.Store(1)
	must(t, all[1].Del(t.Context(), "k"))
	takes("after Del", 1, 1)
	must(t, all[2].Set(t.Context(), "k", 2))
	takes("after Set", 2, 0)
}

// Catches: a waiter that is not told when the lease ends, and waits for all its time.
func TestWaitersAreTold(t *testing.T) {
	for what, failure := range map[string]error{"Fill": nil, "Release": errors.New("the database is away")} {
		synctest.Test(t, func(t *testing.T) {
			_, all := fleet(t, 2, near.Options[string, int64]{Lease: time.Hour, MaxLag: time.Hour})
			go all[0].Take(t.Context(), "k", func(context.Context) (int64, error) {
				time.Sleep(time.Minute)
				return 1, failure
			})
			synctest.Wait()
			began := time.Now()
			got, err := all[1].Take(t.Context(), "k", func(context.Context) (int64, error) { return 1, nil })
			if waited := time.Since(began); err != nil || got != 1 || waited != time.Minute { // fake time
				t.Errorf("%s: %d, %v after %v", what, got, err, waited)
			}
		})
	}
}

// Catches: a store that answers while it is away, or caches that are not told so, or that it is back.
func TestFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, all := fleet(t, 1, near.Options[string, int64]{Away: near.Fail})
		must(t, all[0].Set(t.Context(), "k", 1))
		serving := func() string {
			synctest.Wait()
			_, _, err := all[0].Get(t.Context(), "k")
			n := all[0].Stats().Near
			return fmt.Sprint(n.Serving, n.Reconnects, errors.Is(err, near.ErrStore))
		}
		away := errors.New("pulled the plug")
		for _, c := range []struct {
			failure error
			want    string
		}{{nil, "true 0 false"}, {away, "false 1 true"}, {nil, "true 1 false"}} {
			store.Fail(c.failure)
			time.Sleep(3 * time.Second)
			if got := serving(); got != c.want {
				t.Errorf("after Fail(%v): serving, losses, store away = %s, want %s", c.failure, got, c.want)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := store.Get(ended, "k"); !errors.Is(err, context.Canceled) {
			t.Errorf("after the context has ended: %v", err)
		}
	})
}

package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
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

// Catches, with -race too: a value of before a Del that is served after it, by any cache, or
// loaded over it.
func TestConcurrentFleet(t *testing.T) {
	_, all := fleet(t, 3, near.Options[string, int64]{NotFoundExpire: time.Minute})
	var workers sync.WaitGroup
	for key := range 4 {
		var db database
		text := strconv.Itoa(key)
		for i := range all {
			workers.Go(func() {
				for range 300 {
					least := db.value.Load()
					if got, err := all[i].Take(t.Context(), text, db.load); err != nil || got < least-1 {
						t.Errorf("%d, %v of at least %d", got, err, least-1) // the Del of the last may be under way
					}
				}
			})
		}
		workers.Go(func() {
			for n := range int64(300) {
				db.value.Store(n)
				must(t, all[n%3].Del(t.Context(), text))
			}
		})
	}
	workers.Wait()
}

// Catches: an item that is there after its TTL, or whose end is not told.
func TestItemsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, all := fleet(t, 1, near.Options[string, int64]{})
		must(t, store.Set(t.Context(), "k", near.Item{State: near.Found, Value: []byte("1"), TTL: time.Minute}))
		must(t, store.Set(t.Context(), "k", near.Item{State: near.Found, Value: []byte("2"), TTL: time.Hour}))
		time.Sleep(time.Hour - time.Second)
		told := all[0].Stats().Near.Changes
		if items, err := store.Get(t.Context(), "k"); err != nil || string(items[0].Value) != "2" || items[0].TTL != time.Second {
			t.Errorf("a second before: %+v, %v", items, err)
		}
		time.Sleep(time.Second)
		if items, err := store.Get(t.Context(), "k"); err != nil || items[0].State != near.Missing {
			t.Errorf("at the end: %+v, %v", items, err)
		}
		synctest.Wait()
		if now := all[0].Stats().Near.Changes; now != told+1 {
			t.Errorf("%d changes told, want one", now-told)
		}
	})
}

// Catches: a lease that two callers have, or that outlives a change, its time or its end.
func TestLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ctx := memory.New(), t.Context()
		lease := func() near.Item {
			items, err := store.Lease(ctx, time.Second, "k")
			must(t, err)
			return items[0]
		}
		value := near.Item{State: near.Found, Value: []byte("v")}
		for what, end := range map[string]func(token string){
			"Set":     func(string) { must(t, store.Set(ctx, "k", value)) },
			"Del":     func(string) { must(t, store.Del(ctx, "k")) },
			"Release": func(token string) { must(t, store.Release(ctx, "k", token)) },
			"its end": func(string) { time.Sleep(time.Second) },
			"a Fill":  func(token string) { _, err := store.Fill(ctx, "k", token, value); must(t, err) },
		} {
			must(t, store.Del(ctx, "k"))
			mine := lease()
			if second := lease(); mine.State != near.Missing || mine.Token == "" || second.State != near.Leased || second.Token != mine.Token {
				t.Errorf("%s: leases %+v and %+v, want the first only", what, mine, second)
			}
			if filled, err := store.Fill(ctx, "k", "other", value); filled || err != nil {
				t.Errorf("%s: filled with another token: %v, %v", what, filled, err)
			}
			end(mine.Token)
			if filled, err := store.Fill(ctx, "k", mine.Token, value); filled || err != nil {
				t.Errorf("%s: the lease still holds: %v, %v", what, filled, err)
			}
		}
	})
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

// Catches: a Get, Lease or Del that leaves keys out or changes their order, a Del of nothing that is told,
// a token that serves twice.
func TestManyKeys(t *testing.T) {
	store, all := fleet(t, 1, near.Options[string, int64]{})
	ctx := t.Context()
	must(t, store.Set(ctx, "a", near.Item{State: near.Found, Value: []byte("1")}))
	must(t, store.Set(ctx, "b", near.Item{State: near.Found, Value: []byte("2")}))
	items, err := store.Get(ctx, "b", "c", "a")
	if err != nil || len(items) != 3 || string(items[0].Value) != "2" || items[1].State != near.Missing || string(items[2].Value) != "1" {
		t.Errorf("Get: %+v, %v", items, err)
	}
	items, err = store.Lease(ctx, time.Hour, "b", "c", "a")
	if err != nil || len(items) != 3 || string(items[0].Value) != "2" || items[1].Token == "" || string(items[2].Value) != "1" {
		t.Fatalf("Lease: %+v, %v", items, err)
	}
	first := items[1].Token
	must(t, store.Del(ctx, "a", "b", "c"))
	before := all[0].Stats().Near.Changes
	must(t, store.Del(ctx, "a", "b", "c"))
	if told := all[0].Stats().Near.Changes - before; told != 0 {
		t.Errorf("a Del of nothing is told %d times", told)
	}
	items, err = store.Lease(ctx, time.Hour, "a", "b", "c")
	if err != nil || len(items) != 3 || items[0].Token == "" || items[1].Token == "" || items[2].Token == "" {
		t.Fatalf("after Del: %+v, %v", items, err)
	}
	if filled, err := store.Fill(ctx, "c", first, near.Item{State: near.Found}); filled || err != nil {
		t.Errorf("the token of a lease that a Del has ended fills the next one: %v", err)
	}
}

package near_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// twoOf returns two instances over a server whose Dels fail while failing is set.
func twoOf(t *testing.T, o near.Options[int, int]) (one, other *instance, failing *atomic.Bool) {
	failing = new(atomic.Bool)
	s := newServer()
	s.fail = func(op string) bool { return op == "del" && failing.Load() }
	o.Prefix, o.Name = "k:", "one"
	one, err := near.New[int, int](s, s, o)
	must(t, err)
	o.Name = "other"
	other, err = near.New[int, int](s, s, o)
	must(t, err)
	time.Sleep(time.Second)
	return one, other, failing
}

// undone checks how many keys package stats shows whose Del is repeated, and how many were given up.
func undone(t *testing.T, keys, lost int) {
	t.Helper()
	w := httptest.NewRecorder()
	stats.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics?cache=one", nil))
	for _, want := range []string{fmt.Sprintf("cache_near_undone{cache=\"one\"} %d\n", keys), fmt.Sprintf("cache_near_dels_lost_total{cache=\"one\"} %d\n", lost)} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("want %q in %s", want, w.Body)
		}
	}
}

func taken(t *testing.T, c *instance, key int, now *int, want int) {
	t.Helper()
	value, err := c.Take(context.Background(), key, func(context.Context) (int, error) { return *now, nil })
	if value != want || err != nil {
		t.Errorf("Take = %d, %v, want %d", value, err, want)
	}
}

// TestDelArrives checks that a Del that has failed is repeated until the store has it, that meanwhile its instance
// serves nothing old, and that afterwards no other does.
func TestDelArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other, failing := twoOf(t, near.Options[int, int]{})
		defer other.Close(t.Context())
		database := 1
		taken(t, one, 7, &database, 1)
		taken(t, other, 7, &database, 1)
		database = 2
		failing.Store(true)
		ended, end := context.WithCancel(t.Context())
		end()
		for _, ctx := range []context.Context{t.Context(), ended} {
			if err := one.Del(ctx, 7, 8); !errors.Is(err, near.ErrStore) {
				t.Errorf("Del = %v", err)
			}
		}
		undone(t, 2, 0)
		for range 100 {
			taken(t, one, 7, &database, 2)
			taken(t, other, 7, &database, 1)
			time.Sleep(time.Second / 2)
		}
		database = 3
		time.Sleep(2 * time.Second)
		if _, _, err := one.Get(t.Context(), 7); !errors.Is(err, near.ErrStore) {
			t.Errorf("Get = %v, want an error: the store has an old value", err)
		}
		failing.Store(false)
		time.Sleep(6 * time.Second)
		undone(t, 0, 0)
		taken(t, other, 7, &database, 3)
		taken(t, one, 7, &database, 3)
		must(t, one.Close(t.Context()))
	})
}

// TestDelsAreGivenUp checks the bounds, that a Set or Del that succeeds ends the repetition, and what Close says.
func TestDelsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		one, other, failing := twoOf(t, near.Options[int, int]{
			RetryDel: time.Minute, RetryKeys: 2, Logger: slog.New(slog.NewTextHandler(&text, nil)),
		})
		defer other.Close(t.Context())
		failing.Store(true)
		one.Del(t.Context(), 1, 2, 3)
		undone(t, 2, 1)
		time.Sleep(time.Minute)
		one.Del(t.Context(), 1)
		time.Sleep(10 * time.Second)
		undone(t, 1, 2)
		time.Sleep(time.Minute)
		undone(t, 0, 3)
		one.Del(t.Context(), 1, 2)
		must(t, one.Set(t.Context(), 1, 1))
		undone(t, 1, 3)
		failing.Store(false)
		must(t, one.Del(t.Context(), 2))
		undone(t, 0, 3)
		failing.Store(true)
		one.Del(t.Context(), 1, 2)
		if err := one.Close(t.Context()); !errors.Is(err, near.ErrStore) || !strings.Contains(err.Error(), "2 keys") {
			t.Errorf("Close = %v", err)
		}
		if err := one.Del(t.Context(), 1); err == nil {
			t.Error("a Del after Close succeeds")
		}
		failing.Store(false)
		must(t, one.Close(t.Context()))
		if !strings.Contains(text.String(), "were given up") {
			t.Errorf("logged: %s", &text)
		}
	})
}

// TestNoRetry checks that a negative RetryDel repeats nothing.
func TestNoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other, failing := twoOf(t, near.Options[int, int]{RetryDel: -1})
		defer other.Close(t.Context())
		database := 1
		taken(t, one, 7, &database, 1)
		failing.Store(true)
		one.Del(t.Context(), 7)
		undone(t, 0, 0)
		database = 2
		taken(t, one, 7, &database, 1)
		must(t, one.Close(t.Context()))
	})
}

// TestRemovedBeforeALaterDel checks that a Del that began before another one of its key has failed does not end the
// repetition of that.
func TestRemovedBeforeALaterDel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var failing, slow atomic.Bool
		s.fail = func(op string) bool { return op == "del" && failing.Load() }
		s.delay = func() time.Duration {
			if slow.Load() {
				return time.Second
			}
			return time.Millisecond
		}
		one, err := near.New[int, int](s, s, near.Options[int, int]{Prefix: "k:", Name: "one"})
		must(t, err)
		slow.Store(true)
		first := make(chan error)
		go func() { first <- one.Del(t.Context(), 7) }()
		time.Sleep(1500 * time.Millisecond) // the server has removed it, and its answer is under way
		slow.Store(false)
		failing.Store(true)
		if one.Del(t.Context(), 7) == nil {
			t.Error("the second Del has succeeded")
		}
		must(t, <-first)
		undone(t, 1, 0)
		failing.Store(false)
		time.Sleep(6 * time.Second)
		undone(t, 0, 0)
		must(t, one.Close(t.Context()))
	})
}

// A picky server removes each key but one, and calls with that take long, whatever their contexts say.
type picky struct {
	*server
	running, takes atomic.Int64
}

func (p *picky) Del(ctx context.Context, keys ...string) error {
	p.running.Add(1)
	defer p.running.Add(-1)
	if slices.Contains(keys, "k:7") {
		time.Sleep(time.Duration(p.takes.Load()))
		return fmt.Errorf("not this key: %w", near.ErrRefused)
	}
	return p.server.Del(ctx, keys...)
}

// TestDelOfARefusedKey checks that a key that the store refuses to remove does not keep it from the removal of others, and
// that Close waits for the Dels that are repeated.
func TestDelOfARefusedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &picky{server: newServer()}
		one, err := near.New[int, int](s, s, near.Options[int, int]{Prefix: "k:", Name: "one"})
		must(t, err)
		if err := one.Del(t.Context(), 1, 2, 3, 4, 5, 6, 7, 8, 9); !errors.Is(err, near.ErrRefused) {
			t.Errorf("Del = %v", err)
		}
		time.Sleep(time.Minute)
		undone(t, 1, 0)
		s.takes.Store(int64(time.Minute))
		for s.running.Load() == 0 {
			time.Sleep(time.Second)
		}
		s.takes.Store(0)
		if err := one.Close(t.Context()); !errors.Is(err, near.ErrStore) {
			t.Errorf("Close = %v", err)
		}
		if n := s.running.Load(); n > 0 {
			t.Errorf("after Close %d Dels run", n)
		}
	})
}

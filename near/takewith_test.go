package near_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// TestTakeWith checks that a fetch chooses the TTL in the store, or that nothing is stored there.
func TestTakeWith(t *testing.T) {
	for _, expire := range []time.Duration{0, 10 * time.Minute, -1} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, near.Options[string, string]{Expire: time.Minute, Grace: time.Second})
			one := c.join()
			for range 2 {
				value, err := one.TakeWith(t.Context(), "k", func(_ context.Context, l *cache.Load[string]) (string, error) {
					if l.HasOld || l.Expire != time.Minute {
						t.Errorf("%+v", l)
					}
					l.Expire = expire
					c.fetches.Add(1)
					return "1", nil
				})
				if synctest.Wait(); value != "1" || err != nil {
					t.Errorf("TakeWith = %q, %v", value, err)
				}
			}
			c.server.mu.Lock()
			got := c.server.look("k")
			c.server.mu.Unlock()
			if n := c.fetches.Load(); expire < 0 && (got.State != near.Missing || n != 2) || expire >= 0 && (got.TTL != expire || n != 1) {
				t.Errorf("%d fetches, the store has %+v", n, got)
			}
		})
	}
}

// TestTakeWithOld checks what a fetch that renews a value says of it: that it is unchanged, that it is
// not to be kept, that there is none any more, and for how long.
func TestTakeWithOld(t *testing.T) {
	errGone := errors.New("gone")
	for name, c := range map[string]struct {
		say   func(l *cache.Load[string]) (string, error)
		value string
		state near.State
		ttl   time.Duration
	}{
		"unchanged":   {func(l *cache.Load[string]) (string, error) { l.Unchanged = true; return "ignored", nil }, "1", near.Found, time.Minute},
		"another TTL": {func(l *cache.Load[string]) (string, error) { l.Expire = time.Hour; return "2", nil }, "2", near.Found, time.Hour},
		"not to keep": {func(l *cache.Load[string]) (string, error) { l.Expire = -1; return "2", nil }, "2", near.Missing, 0},
		"not found":   {func(l *cache.Load[string]) (string, error) { l.NotFound = true; return "", errGone }, "", near.Missing, 0},
		"for long": {func(l *cache.Load[string]) (string, error) {
			l.NotFound, l.KeepError = true, time.Hour
			return "", errGone
		}, "", near.Absent, time.Hour},
		"the same, but": {func(*cache.Load[string]) (string, error) { return "", errGone }, "1", near.Found, -time.Second},
	} {
		bubble(t, func(t *testing.T) {
			crew := newCrew(t, near.Options[string, string]{Expire: time.Minute, Grace: time.Hour, Patience: time.Second})
			one := crew.join()
			crew.wants("at first", one, "1", 1, time.Second)
			time.Sleep(time.Minute + time.Second)
			value, err := one.TakeWith(t.Context(), "k", func(_ context.Context, l *cache.Load[string]) (string, error) {
				if !l.HasOld || l.Old != "1" {
					t.Errorf("%s: %+v", name, l)
				}
				return c.say(l)
			})
			crew.server.mu.Lock()
			got := crew.server.look("k")
			crew.server.mu.Unlock()
			if value != c.value || errors.Is(err, errGone) != (c.value == "") || got.State != c.state || got.TTL != c.ttl {
				t.Errorf("%s: %q, %v; the store has %+v", name, value, err, got)
			}
		})
	}
}

// TestUnchangedOfNothing checks that "unchanged" without a value is an error, with and without
// the store.
func TestUnchangedOfNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{})
		for range 2 {
			value, err := r.TakeWith(t.Context(), "k", func(_ context.Context, l *cache.Load[string]) (string, error) {
				l.Unchanged = true
				return "1", nil
			})
			if err == nil {
				t.Errorf("TakeWith = %q", value)
			}
			r.server.fail = func(string) bool { return true }
		}
	})
}

// TestNegative checks that an error is kept by one instance for as long as Negative says, and
// ends with a Set of any instance and a Del of its own.
func TestNegative(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew(t, near.Options[string, string]{Negative: func(err error) time.Duration {
			if errors.Is(err, errDatabase) {
				return time.Minute
			}
			return 0
		}})
		c.set(func() { c.err = errDatabase })
		one, other := c.join(), c.join()
		for range 3 {
			c.wants("first", one, "", 1, time.Second)
			for range 3 {
				c.wants("kept", one, "", 0, 0)
			}
			if n := c.server.called("get"); n > 3 {
				t.Errorf("%d reads of the store for an error that is kept", n)
			}
			c.wants("not by others", other, "", 1, time.Second)
			time.Sleep(time.Minute)
		}
		c.wants("again", one, "", 1, time.Second)
		if err := one.Del(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		c.wants("after Del", one, "", 1, time.Second)
		c.wants("kept again", one, "", 0, 0)
		if err := other.Set(t.Context(), "k", "set"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.wants("after Set", one, "set", 0, 0)
		time.Sleep(time.Second)
		if err := one.Del(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		c.set(func() { c.err = errors.New("not kept") })
		for range 2 {
			before := c.fetches.Load()
			if _, err := one.Take(t.Context(), "k", c.fetch); err != c.err || c.fetches.Load() != before+1 {
				t.Errorf("%v with %d fetches", err, c.fetches.Load()-before)
			}
		}
	})
}

// TestNegativeOfAnOlderFetch checks that an error of a fetch that began before a Del is not kept.
func TestNegativeOfAnOlderFetch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew(t, near.Options[string, string]{Negative: func(error) time.Duration { return time.Hour }})
		c.set(func() { c.err = errDatabase })
		one := c.join()
		go one.Take(t.Context(), "k", c.fetch)
		time.Sleep(500 * time.Millisecond)
		if err := one.Del(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		c.wants("after the Del", one, "", 1, time.Second)
	})
}

// TestMaxLoads checks that fetches wait for a place, without their lease; that one within
// another needs none; that callers get ErrBusy in the end; and that a refresh is skipped.
func TestMaxLoads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew(t, near.Options[string, string]{Expire: time.Minute, Refresh: 0.5, MaxLoads: 1})
		one, other := c.join(), c.join()
		c.wants("at first", one, "1", 1, time.Second)
		hold := make(chan struct{})
		go one.Take(t.Context(), "held", func(ctx context.Context) (string, error) {
			value, err := one.Take(ctx, "within", c.fetch)
			<-hold
			return value, err
		})
		time.Sleep(2 * time.Second)
		if n := c.fetches.Load(); n != 2 {
			t.Errorf("%d fetches, want one within another", n)
		}
		go func() {
			if value, err := one.Take(t.Context(), "waits", c.fetch); !errors.Is(err, near.ErrBusy) {
				t.Errorf("Take = %q, %v", value, err)
			}
		}()
		synctest.Wait()
		if value, err := other.Take(t.Context(), "waits", c.fetch); value != "1" || err != nil || c.fetches.Load() != 3 {
			t.Errorf("Take of another instance = %q, %v with %d fetches", value, err, c.fetches.Load())
		}
		time.Sleep(time.Second)
		if _, err := one.TakeMany(t.Context(), []string{"many"}, func(context.Context, []string) (map[string]string, error) {
			t.Error("a fetch without a place")
			return nil, nil
		}); !errors.Is(err, near.ErrBusy) {
			t.Errorf("TakeMany: %v", err)
		}
		if _, err := one.Take(t.Context(), "busy", c.fetch); !errors.Is(err, near.ErrBusy) {
			t.Errorf("Take: %v", err)
		}
		time.Sleep(30 * time.Second)
		c.wants("due", one, "1", 0, 0)
		if r := one.Stats().Loads.Refreshes; r.Skipped != 1 {
			t.Errorf("%+v", r)
		}
		close(hold)
		synctest.Wait()
		if value, err := one.Take(t.Context(), "free", c.fetch); value != "1" || err != nil {
			t.Errorf("Take = %q, %v", value, err)
		}
	})
}

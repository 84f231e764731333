package near_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A crew is the instances of a service over one server, and their database.
type crew struct {
	t       *testing.T
	server  *server
	options near.Options[string, string]
	fetches atomic.Int32

	mu    sync.Mutex
	value string
	err   error
	takes time.Duration // a fetch
}

var errDatabase = errors.New("the database is down")

func newCrew(t *testing.T, o near.Options[string, string]) *crew {
	return &crew{t: t, server: newServer(), options: o, value: "1", takes: time.Second}
}

// join returns another instance, which serves.
func (c *crew) join() *near.Cache[string, string] {
	c.t.Helper()
	one, err := near.New(c.server, c.server, c.options)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { one.Close(context.Background()) })
	synctest.Wait()
	return one
}

// set changes what the database answers.
func (c *crew) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *crew) fetch(ctx context.Context) (value string, err error) {
	c.fetches.Add(1)
	var takes time.Duration
	c.set(func() { takes = c.takes })
	sleep(ctx, takes)
	c.set(func() { value, err = c.value, c.err })
	return value, err
}

// wants takes key k, and says if the answer, the time it took, or the fetches that began, are others.
func (c *crew) wants(what string, one *near.Cache[string, string], value string, fetches int, took time.Duration) {
	c.t.Helper()
	before, began := c.fetches.Load(), time.Now()
	got, err := one.Take(c.t.Context(), "k", c.fetch)
	waited := time.Since(began)
	synctest.Wait()
	if value == "" && !errors.Is(err, errDatabase) || value != "" && (err != nil || got != value) {
		c.t.Errorf("%s: Take = %q, %v; want %q", what, got, err, value)
	}
	if n := int(c.fetches.Load() - before); n != fetches || waited != took {
		c.t.Errorf("%s: %d fetches in %v; want %d in %v", what, n, waited, fetches, took)
	}
}

// TestRefresh checks that a value that is due is returned at once, and fetched anew by one
// instance of all.
func TestRefresh(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew(t, near.Options[string, string]{Expire: 10 * time.Second, Refresh: 0.8})
		one, other := c.join(), c.join()
		c.wants("at first", one, "1", 1, time.Second)
		c.set(func() { c.value = "2" })
		time.Sleep(8*time.Second - 1)
		c.wants("not due", one, "1", 0, 0)
		c.wants("not due there", other, "1", 0, 0)
		time.Sleep(time.Nanosecond)
		if value, ok, err := other.Get(t.Context(), "k"); value != "1" || !ok || err != nil || c.fetches.Load() != 1 {
			t.Errorf("Get = %q, %v, %v with %d fetches", value, ok, err, c.fetches.Load())
		}
		c.wants("due", one, "1", 1, 0)
		for range 3 {
			c.wants("renewed by the other", other, "1", 0, 0)
			c.wants("being renewed", one, "1", 0, 0)
		}
		time.Sleep(time.Second + 1)
		c.wants("renewed", one, "2", 0, 0)
		c.wants("renewed, there", other, "2", 0, 0)
		if r := one.Stats().Loads.Refreshes; r.OK != 1 || r.Failed != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// TestRefreshFails checks that a value stays when the fetch that renews it fails, that the next
// fetch comes when the lease has ended, and that a panic ends nothing but the fetch.
func TestRefreshFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew(t, near.Options[string, string]{Expire: 20 * time.Second, Refresh: 0.5})
		one, other := c.join(), c.join()
		c.wants("at first", one, "1", 1, time.Second)
		time.Sleep(10 * time.Second)
		c.set(func() { c.value, c.err, c.takes = "2", errDatabase, 0 })
		c.wants("due", one, "1", 1, 0)
		time.Sleep(3*time.Second - 1) // Lease
		c.wants("failed", one, "1", 0, 0)
		c.wants("failed, there", other, "1", 0, 0)
		time.Sleep(3 * time.Second)
		before := c.fetches.Load()
		value, err := other.Take(t.Context(), "k", func(context.Context) (string, error) { c.fetches.Add(1); panic("in the background") })
		if synctest.Wait(); value != "1" || err != nil || c.fetches.Load() != before+1 {
			t.Errorf("Take = %q, %v with %d fetches", value, err, c.fetches.Load()-before)
		}
		if r := other.Stats().Loads.Refreshes; r.OK != 0 || r.Failed != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// TestGrace checks that a value past its TTL stands in when fetches fail, also at an instance
// that starts then; that one fetch of the fleet is tried in each Lease; that Get has nothing;
// and that all ends with Grace, or when the database answers.
func TestGrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew(t, near.Options[string, string]{Expire: 10 * time.Second, Grace: time.Minute})
		one := c.join()
		c.wants("at first", one, "1", 1, time.Second)
		time.Sleep(10*time.Second - 1)
		c.wants("at its end", one, "1", 0, 0)
		time.Sleep(time.Nanosecond)
		c.set(func() { c.err = errDatabase })
		c.wants("in grace", one, "1", 1, 0)
		other := c.join()
		c.wants("in grace, at a new one", other, "1", 0, 0)
		if value, ok, err := other.Get(t.Context(), "k"); ok || err != nil {
			t.Errorf("Get = %q, %v, %v", value, ok, err)
		}
		reads := c.server.called("lease")
		before := c.fetches.Load()
		for range 100 { // 30 s
			for _, one := range []*near.Cache[string, string]{one, other} {
				if value, err := one.Take(t.Context(), "k", c.fetch); value != "1" || err != nil {
					t.Fatalf("Take = %q, %v", value, err)
				}
			}
			time.Sleep(300 * time.Millisecond)
		}
		if n := c.fetches.Load() - before; n < 5 || n > 10 {
			t.Errorf("%d fetches in 30 s of failures, want one in each Lease", n)
		}
		if n := c.server.called("lease") - reads; n > 60 {
			t.Errorf("%d reads of the store for 200 calls in 30 s", n)
		}
		if s := other.Stats(); s.HitsInGrace < 100 {
			t.Errorf("%d answers in grace", s.HitsInGrace)
		}
		time.Sleep(4 * time.Second)
		c.set(func() { c.value, c.err = "2", nil })
		c.wants("the database is back", one, "1", 1, 0)
		time.Sleep(time.Second + 1)
		c.wants("and answers", one, "2", 0, 0)

		time.Sleep(70*time.Second + time.Millisecond)
		c.set(func() { c.err = errDatabase })
		c.wants("when Grace is over", one, "", 1, time.Second)
	})
}

// TestGraceEndsByAChange checks that nothing stands in for a value that was removed, by whomever.
func TestGraceEndsByAChange(t *testing.T) {
	for name, remove := range map[string]func(c *crew, other *near.Cache[string, string]) error{
		"this":     nil,
		"other":    func(c *crew, other *near.Cache[string, string]) error { return other.Del(t.Context(), "k") },
		"stranger": func(c *crew, _ *near.Cache[string, string]) error { return c.server.Del(t.Context(), "k") },
	} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, near.Options[string, string]{Expire: 10 * time.Second, Grace: time.Minute})
			one, other := c.join(), c.join()
			c.wants("at first", one, "1", 1, time.Second)
			time.Sleep(11 * time.Second)
			c.set(func() { c.err = errDatabase })
			c.wants("in grace", one, "1", 1, 0)
			time.Sleep(500 * time.Millisecond) // the fetch goes on
			if remove == nil {
				remove = func(*crew, *near.Cache[string, string]) error { return one.Del(t.Context(), "k") }
			}
			if err := remove(c, other); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			c.set(func() { c.err = nil })
			time.Sleep(time.Second) // the fetch in the background has its result, which comes too late
			c.set(func() { c.err = errDatabase })
			c.wants("removed by "+name, one, "", 1, time.Second)
			c.wants("removed, there", other, "", 1, time.Second)
		})
	}
}

// TestPatience checks that callers wait for the fetch as long as Patience, and no longer, at
// the instance that fetches and at others.
func TestPatience(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew(t, near.Options[string, string]{Expire: 10 * time.Second, Grace: time.Hour, Patience: 2 * time.Second})
		one, other := c.join(), c.join()
		c.wants("at first", one, "1", 1, time.Second)
		time.Sleep(10 * time.Second)
		c.set(func() { c.value = "2" })
		go c.wants("renewed in time by the other", other, "2", 1, time.Second)
		synctest.Wait()
		before := c.fetches.Load()
		if value, err := one.Take(t.Context(), "k", c.fetch); value != "2" || err != nil || c.fetches.Load() != before {
			t.Errorf("Take = %q, %v with %d fetches", value, err, c.fetches.Load()-before)
		}
		time.Sleep(11 * time.Second)
		c.set(func() { c.value, c.takes = "3", 2500*time.Millisecond })
		go c.wants("too slow", one, "2", 1, 2*time.Second)
		synctest.Wait()
		began := time.Now()
		if value, err := other.Take(t.Context(), "k", c.fetch); value != "2" || err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("Take = %q, %v after %v", value, err, time.Since(began))
		}
		time.Sleep(time.Second)
		c.wants("later", one, "3", 0, 0)
		time.Sleep(11 * time.Second)
		c.set(func() { c.err, c.takes = errDatabase, time.Second })
		c.wants("fails", other, "3", 1, time.Second)
	})
}

// TestNotFoundInGrace checks that "not found" is an answer, which the old value does not outlive.
func TestNotFoundInGrace(t *testing.T) {
	for _, kept := range []time.Duration{0, time.Minute} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, near.Options[string, string]{Expire: 10 * time.Second, Grace: time.Hour, NotFoundExpire: kept})
			one := c.join()
			c.wants("at first", one, "1", 1, time.Second)
			time.Sleep(10 * time.Second)
			c.set(func() { c.err = near.ErrNotFound })
			c.wants("in grace", one, "1", 1, 0)
			time.Sleep(time.Second + 1)
			before := c.fetches.Load()
			if value, err := one.Take(t.Context(), "k", c.fetch); !errors.Is(err, near.ErrNotFound) {
				t.Errorf("Take = %q, %v", value, err)
			}
			if n := c.fetches.Load() - before; (n == 0) != (kept > 0) {
				t.Errorf("%d fetches with NotFoundExpire %v", n, kept)
			}
		})
	}
}

// TestGraceWhereTheStoreCannotWrite checks that a value in its Grace is fetched without a lease,
// and stands in if that fails.
func TestGraceWhereTheStoreCannotWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew(t, near.Options[string, string]{Expire: 10 * time.Second, Grace: time.Hour})
		one := c.join()
		c.wants("at first", one, "1", 1, time.Second)
		time.Sleep(10 * time.Second)
		c.server.full = true
		c.set(func() { c.value = "2" })
		c.wants("fetched", one, "2", 1, time.Second)
		time.Sleep(2 * time.Second)
		c.set(func() { c.err = errDatabase })
		c.wants("failed", one, "1", 1, time.Second)
	})
}

// TestTakeManyInGrace checks for TakeMany what the other tests check for Take.
func TestTakeManyInGrace(t *testing.T) {
	for _, patience := range []time.Duration{0, 2 * time.Second} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, near.Options[string, string]{Expire: 10 * time.Second, Refresh: 0.5, Grace: time.Hour, Patience: patience})
			one, other := c.join(), c.join()
			many := func(what string, at *near.Cache[string, string], value string, fetches int) {
				t.Helper()
				before := c.fetches.Load()
				got, err := at.TakeMany(t.Context(), []string{"k", "l"}, func(ctx context.Context, keys []string) (map[string]string, error) {
					value, err := c.fetch(ctx)
					all := map[string]string{}
					for _, key := range keys {
						all[key] = value
					}
					return all, err
				})
				synctest.Wait()
				if n := int(c.fetches.Load() - before); err != nil || len(got) != 2 || got["k"] != value || got["l"] != value || n != fetches {
					t.Errorf("%s: %v, %v with %d fetches, want %q with %d", what, got, err, n, value, fetches)
				}
			}
			many("at first", one, "1", 1)
			time.Sleep(5 * time.Second)
			c.set(func() { c.value = "2" })
			many("due", one, "1", 1)
			many("due, there", other, "1", 0)
			time.Sleep(time.Second + 1)
			many("renewed", other, "2", 0)
			time.Sleep(10 * time.Second)
			c.set(func() { c.value = "3" })
			if patience == 0 {
				many("in grace", one, "2", 1)
				many("in grace, there", other, "2", 0)
			} else {
				many("in grace", one, "3", 1)
				many("in grace, there", other, "3", 0)
			}
			time.Sleep(12 * time.Second)
			c.set(func() { c.err = errDatabase })
			many("failing", one, "3", 1)
			c.wants("failing, for Take", other, "3", 0, 0)
			many("failing, there, of which Take has kept one", other, "3", 0)
		})
	}
}

// TestGraceEnds checks that nothing stands in when Grace is over, also if it was read just before.
func TestGraceEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew(t, near.Options[string, string]{Expire: 10 * time.Second, Grace: time.Minute})
		one := c.join()
		c.wants("at first", one, "1", 1, time.Second)
		c.set(func() { c.err, c.takes = errDatabase, 0 })
		time.Sleep(70*time.Second - 1)
		c.wants("just before", one, "1", 1, 0)
		time.Sleep(time.Nanosecond)
		c.wants("over", one, "", 1, 0)
	})
}

// TestRefreshThatHangs checks that a fetch in the background ends with its lease, and with Close.
func TestRefreshThatHangs(t *testing.T) {
	for _, closed := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			c := newCrew(t, near.Options[string, string]{Expire: time.Minute, Refresh: 0.5})
			one := c.join()
			c.wants("at first", one, "1", 1, time.Second)
			time.Sleep(40 * time.Second)
			began, ended := time.Now(), time.Duration(0)
			if _, err := one.Take(t.Context(), "k", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				ended = time.Since(began)
				return "", ctx.Err()
			}); err != nil {
				t.Error(err)
			}
			want := 3 * time.Second // Lease
			if closed {
				want = 0
				if err := one.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if ended != want || closed && ended != 0 {
				t.Errorf("it ended after %v, want %v", ended, want)
			}
		})
	}
}

package near_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// instances returns caches of one server that all serve.
func instances(t *testing.T, s *server, n int, o near.Options[string, string]) []*near.Cache[string, string] {
	t.Helper()
	all := make([]*near.Cache[string, string], n)
	for i := range all {
		c, err := near.New(s, s, o)
		must(t, err)
		t.Cleanup(func() { c.Close(context.Background()) })
		all[i] = c
	}
	time.Sleep(50 * time.Millisecond)
	synctest.Wait()
	return all
}

// TestOneLoadForTheFleet checks that of a thousand callers that miss a key on three
// instances one fetches, that all get its value as soon as it is stored, and that it is in
// memory from the next read on.
func TestOneLoadForTheFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer()
		all := instances(t, s, 3, near.Options[string, string]{MaxLag: time.Minute})
		s.delay = func() time.Duration { return time.Millisecond }
		var fetched atomic.Int32
		var callers sync.WaitGroup
		began := time.Now()
		for i := range 1000 {
			callers.Go(func() {
				value, err := all[i%3].Take(t.Context(), "k", func(context.Context) (string, error) {
					fetched.Add(1)
					time.Sleep(500 * time.Millisecond)
					return "v", nil
				})
				if value != "v" || err != nil {
					t.Errorf("%q, %v", value, err)
				}
			})
		}
		callers.Wait()
		if n, took := fetched.Load(), time.Since(began); n != 1 || took > 510*time.Millisecond {
			t.Errorf("%d fetches, after %v", n, took)
		}
		if waits := all[0].Stats().Near.Waits + all[1].Stats().Near.Waits + all[2].Stats().Near.Waits; waits < 2 {
			t.Errorf("%d waits for another instance", waits)
		}
		for _, c := range all {
			for range 2 {
				c.Get(t.Context(), "k")
			}
			if hits := c.Stats().Hits; hits == 0 {
				t.Error("it is not here")
			}
		}
	})
}

// TestHolders checks that others begin a load as soon as the holder of the lease fails,
// panics or is given up, and when its lease ends if it dies.
func TestHolders(t *testing.T) {
	const lease = 2 * time.Second
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		load func(context.Context) (string, error)
		want time.Duration
	}{
		"fails":  {func(context.Context) (string, error) { return "", failed }, 0},
		"panics": {func(context.Context) (string, error) { panic(failed) }, 0},
		"waits":  {func(ctx context.Context) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) }, 100 * time.Millisecond},
		"dies":   {func(context.Context) (string, error) { time.Sleep(time.Hour); return "", failed }, lease},
	} {
		bubble(t, func(t *testing.T) {
			s := newServer()
			all := instances(t, s, 2, near.Options[string, string]{Lease: lease, MaxLag: time.Minute})
			go func() {
				defer func() { recover() }()
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // fake time
				defer cancel()
				all[0].Take(ctx, "k", c.load)
			}()
			synctest.Wait()
			began := time.Now()
			value, err := all[1].Take(t.Context(), "k", func(context.Context) (string, error) { return "v", nil })
			if took := time.Since(began); value != "v" || err != nil || took != c.want {
				t.Errorf("%s: %q, %v after %v, want it after %v", name, value, err, took, c.want)
			}
		})
	}
}

// TestWaitWithoutPushes checks that a caller that waits for another load while no source
// tells of changes asks the store again, soon but not all the time.
func TestWaitWithoutPushes(t *testing.T) {
	for _, late := range []bool{false, true} { // lost before it begins to wait, or while it waits
		inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
			if !late {
				r.hand.Lost(errServer)
			}
			items, err := r.server.Lease(t.Context(), time.Hour, "k")
			if err != nil || items[0].Token == "" {
				t.Fatal(items, err)
			}
			go func() {
				time.Sleep(time.Second)
				if late {
					r.hand.Lost(errServer)
				}
				time.Sleep(time.Second)
				r.server.Fill(t.Context(), "k", items[0].Token, near.Item{State: near.Found, Value: []byte(`"v"`)})
			}()
			began, before := time.Now(), r.server.called("lease")
			value, err := r.Take(t.Context(), "k", r.fetch)
			if took := time.Since(began); value != "v" || err != nil || took > 2300*time.Millisecond { // fake time
				t.Errorf("%q, %v after %v", value, err, took)
			}
			if n := r.server.called("lease") - before; n > 20 {
				t.Errorf("it asked %d times", n)
			}
		})
	}
}

// TestLateFill checks that a value fetched before a Del, a Set or a removal by another
// program is kept nowhere.
func TestLateFill(t *testing.T) {
	for name, write := range map[string]func(*near.Cache[string, string], *server){
		"Del":     func(c *near.Cache[string, string], s *server) { c.Del(context.Background(), "k") },
		"Set":     func(c *near.Cache[string, string], s *server) { c.Set(context.Background(), "k", "new") },
		"foreign": func(c *near.Cache[string, string], s *server) { s.Del(context.Background(), "k") },
		"other lease": func(c *near.Cache[string, string], s *server) {
			time.Sleep(3500 * time.Millisecond)
			s.Lease(context.Background(), time.Hour, "k")
		},
	} {
		bubble(t, func(t *testing.T) {
			s := newServer()
			all := instances(t, s, 2, near.Options[string, string]{MaxLag: time.Minute})
			value, err := all[0].Take(t.Context(), "k", func(context.Context) (string, error) {
				write(all[1], s)
				return "old", nil
			})
			if value != "old" || err != nil {
				t.Errorf("%s: the caller gets %q, %v", name, value, err)
			}
			for _, c := range all {
				if value, ok, _ := c.Get(t.Context(), "k"); ok && value == "old" {
					t.Errorf("%s: what was fetched before is kept", name)
				}
			}
			if n := all[0].Stats().Near.Overtaken; n != 1 {
				t.Errorf("%s: %d overtaken", name, n)
			}
		})
	}
}

// TestKeptUnderALease checks that a value stored under a lease is in memory without
// another read, if no change is told, and that one that the store refused, or that was
// stored without a lease, is there for MaxLag.
func TestKeptUnderALease(t *testing.T) {
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
		r.want("missing", "fetched", 1, 1)
		r.stays(0)
	})
	for _, op := range []string{"fill", "fill reply"} {
		inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
			r.server.fail = func(now string) bool { return now == op }
			r.want("missing", "fetched", 1, 1)
			r.server.fail = nil
			r.stays(1)
		})
	}
	bubble(t, func(t *testing.T) {
		r := &rig{t: t, server: newServer(), hand: new(hand), value: "fetched"}
		r.Cache = r.join(plain{r.server}, near.Options[string, string]{})
		r.serve()
		r.Take(t.Context(), "k", r.fetch)
		r.stays(1)
	})
}

// Catches: a key of which changes are not told and that is kept for long, or another one that is
// not; one that is told of again and is not kept.
func TestExcept(t *testing.T) {
	inRig(t, near.Options[string, string]{MaxLag: time.Second}, func(t *testing.T, r *rig) {
		r.store("k", "1", 0)
		for _, c := range []struct {
			untold func(key string) bool
			reads  int
		}{
			{nil, 0},
			{func(key string) bool { return key == "k" }, 1},
			{func(key string) bool { return key != "k" }, 0},
			{nil, 0},
		} {
			near.Except(r.hand.Watcher, c.untold)
			r.serve()
			r.Get(t.Context(), "k")
			r.stays(c.reads)
		}
	})
}

// Catches: a value that ServeOn allows and that is gone, as its server is; another one that stays.
func TestExceptWithServeOn(t *testing.T) {
	inRig(t, near.Options[string, string]{MaxLag: time.Second, ServeOn: time.Minute, Away: near.Fail}, func(t *testing.T, r *rig) {
		r.store("k", "1", 0)
		r.store("told", "2", 0)
		gets := func() (got string) {
			for _, key := range []string{"k", "told"} {
				value, _, _ := r.Get(t.Context(), key)
				got += value
			}
			return got
		}
		if got := gets(); got != "12" {
			t.Errorf("at first %q", got)
		}
		r.server.fail = func(string) bool { return true }
		for range 2 {
			near.Except(r.hand.Watcher, func(key string) bool { return key == "k" })
			r.serve()
			if got := gets(); got != "1" {
				t.Errorf("while the server is away %q", got)
			}
		}
		near.Except(r.hand.Watcher, nil)
		r.hand.ChangedAll()
		if got := gets(); got != "" {
			t.Errorf("when changes are told again %q", got)
		}
	})
}

// stays checks that key k is in memory, and is read again later than MaxLag after now so often.
func (r *rig) stays(reads int) {
	r.t.Helper()
	end := time.Now().Add(time.Second) // fake time
	for _, want := range []int{0, reads} {
		if got := r.gets("k"); got != want {
			r.t.Errorf("%+v: after %v: %d reads, want %d", r.Stats().Near, time.Since(end), got, want)
		}
		time.Sleep(time.Until(end))
		r.hand.vouch()
	}
}

// withoutLeases runs a test with caches whose store has no lease for a key: it has none at
// all, or cannot be asked.
func withoutLeases(t *testing.T, maxLag time.Duration, test func(t *testing.T, r *rig)) {
	for name, store := range map[string]func(*server) near.Store{
		"no leases": func(s *server) near.Store { return plain{s} },
		"no store":  func(s *server) near.Store { return s },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := &rig{t: t, server: newServer(), hand: new(hand)}
				r.server.fail = func(op string) bool { return op == "lease" || op == "set" }
				r.Cache = r.join(store(r.server), near.Options[string, string]{MaxLag: maxLag})
				r.serve()
				test(t, r)
			})
		})
	}
}

// TestUnsharedFetch checks that a fetch for a key on which the store has not even a lease
// is not shared MaxLag after it began, as a removal of the key would not be told.
func TestUnsharedFetch(t *testing.T) {
	withoutLeases(t, 400*time.Millisecond, func(t *testing.T, r *rig) {
		for i := range 20 {
			time.AfterFunc(time.Duration(i)*100*time.Millisecond, r.hand.vouch)
		}
		var truth atomic.Int32
		fetch := func(context.Context) (string, error) {
			value := strconv.Itoa(int(truth.Load()))
			time.Sleep(time.Second)
			return value, nil
		}
		var first sync.WaitGroup
		first.Go(func() { r.Take(t.Context(), "k", fetch) })
		time.Sleep(500 * time.Millisecond)
		truth.Store(1)
		r.server.Del(t.Context(), "k") // by another instance
		if value, err := r.Take(t.Context(), "k", fetch); value != "1" || err != nil {
			t.Errorf("%q, %v", value, err)
		}
		first.Wait()
		time.Sleep(time.Second)
	})
}

// TestSharedFetch checks that before that, callers share such a fetch, and that its value is
// kept until then.
func TestSharedFetch(t *testing.T) {
	for _, first := range []int{0, 1} { // who begins it: Take or TakeMany
		withoutLeases(t, time.Minute, func(t *testing.T, r *rig) {
			var fetched atomic.Int32
			fetch := func(context.Context) (string, error) {
				fetched.Add(1)
				time.Sleep(time.Second)
				return "v", nil
			}
			for round := range 4 {
				var callers sync.WaitGroup
				for i := range 10 {
					callers.Go(func() {
						if value, err := takeK(t.Context(), r.Cache, (i+first)%2 == 1, fetch); value != "v" || err != nil {
							t.Errorf("%q, %v", value, err)
						}
					})
					time.Sleep(10 * time.Millisecond)
				}
				callers.Wait()
				if n := int(fetched.Load()); n != round/2+1 {
					t.Errorf("%d fetches after %d rounds of callers", n, round+1)
				}
				if round == 1 {
					time.Sleep(time.Minute)
				}
			}
		})
	}
}

// TestWaitsForOneFetch checks that of callers in forty instances none waits for more than one
// fetch of another one: of a value, that fails, that finds nothing, or that outlives its lease.
func TestWaitsForOneFetch(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		query, most time.Duration // of a fetch, and of a call
		err         error
	}{
		"fails":      {50 * time.Millisecond, 100 * time.Millisecond, failed},
		"finds none": {50 * time.Millisecond, 100 * time.Millisecond, near.ErrNotFound},
		"slow":       {5 * time.Second, 8 * time.Second, nil},
		"fetches":    {50 * time.Millisecond, 50 * time.Millisecond, nil},
	} {
		for _, many := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				all := instances(t, newServer(), 40, near.Options[string, string]{MaxLag: time.Minute})
				var fetched atomic.Int32
				var callers sync.WaitGroup
				began := time.Now()
				for _, one := range all {
					callers.Go(func() {
						err := takeOneOrTen(t.Context(), one, many, func() error {
							fetched.Add(1)
							time.Sleep(c.query)
							return c.err
						})
						if took := time.Since(began); err != c.err || took > c.most { // fake time
							t.Errorf("%s, many %t: %v after %v", name, many, err, took)
						}
					})
				}
				callers.Wait()
				if n := fetched.Load(); name == "fetches" && n != 1 || n > 40 {
					t.Errorf("%s, many %t: %d fetches", name, many, n)
				}
			})
		}
	}
}

// takeK takes key k, by a TakeMany of it alone if many is set.
func takeK(ctx context.Context, c *near.Cache[string, string], many bool, fetch func(context.Context) (string, error)) (string, error) {
	if !many {
		return c.Take(ctx, "k", fetch)
	}
	values, err := c.TakeMany(ctx, []string{"k"}, func(ctx context.Context, _ []string) (map[string]string, error) {
		value, err := fetch(ctx)
		return map[string]string{"k": value}, err
	})
	return values["k"], err
}

// takeOneOrTen takes a key, or ten by one call, each of which is fetched, or is an error.
func takeOneOrTen(ctx context.Context, c *near.Cache[string, string], ten bool, fetch func() error) error {
	if !ten {
		_, err := c.Take(ctx, "k", func(context.Context) (string, error) { return "v", fetch() })
		return err
	}
	keys := strings.Split("0123456789", "")
	values, err := c.TakeMany(ctx, keys, func(_ context.Context, missing []string) (map[string]string, error) {
		values, err := map[string]string{}, fetch()
		for _, key := range missing {
			values[key] = "v"
		}
		if err == near.ErrNotFound {
			return nil, nil
		}
		return values, err
	})
	if err == nil && len(values) < len(keys) {
		err = near.ErrNotFound
	}
	return err
}

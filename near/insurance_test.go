package near_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// TestOutageIsNone has 60 callers ask for ten keys on three instances for ten seconds while the
// store fails, or hangs.
//
// Catches: a database that gets more than one query for each key, instance and MaxLag in an
// outage of the store; a caller that waits for the store each time, or longer than its context.
func TestOutageIsNone(t *testing.T) {
	const keys, many, outage, patience = 10, 3, 10 * time.Second, 300 * time.Millisecond
	for name, breaks := range map[string]func(s *server){
		"fails": func(s *server) { s.fail = func(string) bool { return true } },
		"hangs": func(s *server) { s.delay = func() time.Duration { return time.Hour } },
	} {
		for _, vouched := range []bool{true, false} {
			bubble(t, func(t *testing.T) {
				s, source := newServer(), newServer()
				var all []*near.Cache[string, string]
				for range many {
					c, err := near.New[string, string](s, source, near.Options[string, string]{Timeout: 100 * time.Millisecond})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { c.Close(context.Background()) })
					all = append(all, c)
				}
				time.Sleep(time.Second)
				breaks(s)
				if !vouched {
					source.setDown(true)
					source.cut(false)
				}
				var queries, answers, late atomic.Int64
				var callers sync.WaitGroup
				end := time.Now().Add(outage)
				for i := range 60 {
					callers.Go(func() {
						random := rand.New(rand.NewPCG(uint64(i), 1))
						for time.Now().Before(end) {
							began := time.Now()
							ctx, cancel := context.WithTimeout(t.Context(), patience)
							_, err := all[i%many].Take(ctx, strconv.Itoa(random.IntN(keys)), func(context.Context) (string, error) {
								queries.Add(1)
								time.Sleep(20 * time.Millisecond)
								return "v", nil
							})
							cancel()
							if err != nil || time.Since(began) > patience {
								late.Add(1)
							}
							answers.Add(1)
							time.Sleep(5 * time.Millisecond)
						}
					})
				}
				callers.Wait()
				// Values are kept for three quarters of MaxLag, a second.
				if most := int64(keys * many * (outage/(750*time.Millisecond) + 2)); queries.Load() > most || late.Load() > 0 || answers.Load() < 50_000 {
					t.Errorf("%s, vouched for %t: %d queries, want at most %d; %d of %d answers came late or not", name, vouched, queries.Load(), most, late.Load(), answers.Load())
				}
				for _, c := range all {
					if err := c.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestSlowLoadIsNoHerd has callers come for three seconds of a load that takes as long as that,
// while nothing is vouched for: those for whom it began too early share the next load.
func TestSlowLoadIsNoHerd(t *testing.T) {
	for _, many := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, near.Options[string, string]{MaxLag: time.Second})
			r.silence()
			var fetches atomic.Int64
			var callers sync.WaitGroup
			for i := range 300 {
				callers.Go(func() {
					time.Sleep(time.Duration(i) * 10 * time.Millisecond)
					if many {
						_, _ = r.TakeMany(t.Context(), []string{"k"}, func(context.Context, []string) (map[string]string, error) {
							fetches.Add(1)
							time.Sleep(3 * time.Second)
							return nil, nil
						})
						return
					}
					_, _ = r.Take(t.Context(), "k", func(context.Context) (string, error) {
						fetches.Add(1)
						time.Sleep(3 * time.Second)
						return "", near.ErrNotFound
					})
				})
			}
			callers.Wait()
			if n := fetches.Load(); n != 2 {
				t.Errorf("many %t: %d fetches, want 2", many, n)
			}
		})
	}
}

// TestBreaker checks that after three calls in a row that took too long the store is spared,
// also by callers that get a value in memory; that a probe finds out when it answers again;
// and that a store that answers with errors is not spared.
func TestBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{Timeout: 500 * time.Millisecond, ServeOn: time.Hour})
		r.store("k", "1", 0)
		r.want("at first", "1", 1, 0)
		r.silence()
		r.server.delay = func() time.Duration { return time.Minute }
		for i := range 10 {
			began := time.Now()
			r.want("the store hangs", "1", 0, 0)
			want := 500 * time.Millisecond
			if i >= 3 {
				want = 0
			}
			if took := time.Since(began); took != want {
				t.Errorf("call %d took %v, want %v", i, took, want)
			}
		}
		if n := r.Stats().Near; !n.StoreAway || n.StoreSpared != 7 || n.StoreErrors != 3 || n.ServedOn != 10 {
			t.Errorf("%+v", n)
		}
		synctest.Wait() // for the probe to hang
		r.server.delay = nil
		r.store("k", "2", 0)
		time.Sleep(time.Second) // the probe hangs for that long at most
		r.want("spared, and probed", "1", 0, 0)
		synctest.Wait()
		r.want("it answers again", "2", 1, 0)
		if r.Stats().Near.StoreAway {
			t.Error("it is still away")
		}
		r.server.fail = func(string) bool { return true }
		for range 10 {
			time.Sleep(time.Second + 1)
			r.want("it fails", "1", 0, 0)
		}
		if n := r.Stats().Near; n.StoreAway || n.StoreErrors != 13 {
			t.Errorf("%+v", n)
		}
	})
}

// TestLoadsPastTheCacheCount checks that loads while nothing is served are in the statistics,
// that a caller leaves them with its context, and that Close waits for them.
func TestLoadsPastTheCacheCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{})
		r.silence()
		r.server.fail = func(string) bool { return true }
		r.err = errors.New("the database is away, too")
		for range 5 {
			if _, err := r.Take(t.Context(), "k", r.fetch); err != r.err {
				t.Errorf("%v", err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		release := make(chan struct{})
		began := time.Now()
		_, err := r.Take(ctx, "k", func(context.Context) (string, error) { <-release; return "v", nil })
		if took := time.Since(began); took != 100*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %v", err, took)
		}
		if l := r.Stats().Loads; l.Failed.Count() != 5 || l.Running != 1 || l.Abandoned != 1 {
			t.Errorf("%d failed, %d running, %d abandoned; want 5, 1 and 1", l.Failed.Count(), l.Running, l.Abandoned)
		}
		closing, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := r.Close(closing); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close does not wait: %v", err)
		}
		close(release)
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestNoConvoy has 40 instances ask for a key whose load fails, finds nothing, or takes longer
// than a lease.
//
// Catches: a lease that is handed from waiter to waiter, so that the last one waits for 39.
func TestNoConvoy(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		query time.Duration
		err   error
		most  time.Duration
	}{
		"fails":         {50 * time.Millisecond, failed, 110 * time.Millisecond},
		"finds nothing": {50 * time.Millisecond, near.ErrNotFound, 110 * time.Millisecond},
		"is slow":       {5 * time.Second, nil, 8100 * time.Millisecond}, // a lease and a query
	} {
		bubble(t, func(t *testing.T) {
			s := newServer()
			all := instances(t, s, 40, near.Options[string, string]{MaxLag: time.Minute})
			s.delay = func() time.Duration { return time.Millisecond }
			var callers sync.WaitGroup
			for _, cache := range all {
				callers.Go(func() {
					began := time.Now()
					_, err := cache.Take(t.Context(), "k", func(context.Context) (string, error) {
						time.Sleep(c.query)
						return "v", c.err
					})
					if took := time.Since(began); took > c.most || err != c.err {
						t.Errorf("%s: %v after %v", name, err, took)
					}
				})
			}
			callers.Wait()
		})
	}
}

// TestTakeManyAfterAFailedPeer has a peer that loads 100 keys fail, or die.
//
// Catches: keys that are fetched one after another then.
func TestTakeManyAfterAFailedPeer(t *testing.T) {
	const lease = 3 * time.Second
	for name, c := range map[string]struct {
		peer func() (map[string]string, error)
		most time.Duration
	}{
		"fails": {func() (map[string]string, error) { return nil, errors.New("failed") }, 1200 * time.Millisecond},
		"dies":  {func() (map[string]string, error) { time.Sleep(time.Hour); return nil, nil }, lease + 200*time.Millisecond},
	} {
		bubble(t, func(t *testing.T) {
			s := newServer()
			all := instances(t, s, 2, near.Options[string, string]{MaxLag: time.Minute, Lease: lease})
			keys := make([]string, 100)
			for i := range keys {
				keys[i] = strconv.Itoa(i)
			}
			go func() {
				_, _ = all[0].TakeMany(context.Background(), keys, func(context.Context, []string) (map[string]string, error) {
					time.Sleep(time.Second)
					return c.peer()
				})
			}()
			synctest.Wait()
			began, fetches := time.Now(), 0
			got, err := all[1].TakeMany(t.Context(), keys, func(_ context.Context, missing []string) (map[string]string, error) {
				fetches++
				time.Sleep(100 * time.Millisecond)
				values := map[string]string{}
				for _, key := range missing {
					values[key] = key
				}
				return values, nil
			})
			if took := time.Since(began); len(got) != 100 || err != nil || fetches != 1 || took > c.most {
				t.Errorf("%s: %d values, %v, %d fetches after %v", name, len(got), err, fetches, took)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}

// TestClone checks that with Clone each caller has a value of its own, from memory, from the
// store and from fetch.
func TestClone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newServer()
		c, err := near.New(s, s, near.Options[string, *int]{
			MaxLag: time.Minute,
			Clone:  func(p *int) *int { copied := *p; return &copied },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		time.Sleep(time.Second)
		fetch := func(context.Context) (*int, error) { return new(int), nil }
		many := func(_ context.Context, missing []string) (map[string]*int, error) {
			return map[string]*int{missing[0]: new(int)}, nil
		}
		for range 3 {
			one, err := c.Take(t.Context(), "k", fetch)
			two, _, err2 := c.Get(t.Context(), "k")
			three, err3 := c.TakeMany(t.Context(), []string{"k"}, many)
			if err := errors.Join(err, err2, err3); err != nil {
				t.Fatal(err)
			}
			for _, p := range []*int{one, two, three["k"]} {
				if *p++; *p != 1 {
					t.Fatalf("the value of another caller, which has made it %d", *p)
				}
			}
		}
	})
}

// covering is a source that covers the prefix "user:".
type covering struct{ hand }

func (*covering) CoversPrefix(prefix string) bool { return prefix == "user:" }

// TestPrefixIsCovered checks that New refuses a Prefix of which the source tells nothing.
func TestPrefixIsCovered(t *testing.T) {
	for prefix, want := range map[string]bool{"user:": true, "item:": false} {
		c, err := near.New(newServer(), new(covering), near.Options[string, string]{Prefix: prefix})
		if got := err == nil; got != want {
			t.Errorf("%s: %v", prefix, err)
		}
		if err == nil {
			c.Close(t.Context())
		}
	}
}

package near_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// TestTakeManyWaits checks that nobody joins the load of one key of a batch MaxLag after it began, while the batch waits
// for another one: no source tells of changes of what has no lease.
func TestTakeManyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		o := near.Options[int, int]{Prefix: "k:", Lease: time.Minute, MayExist: func(key int) bool { return key != 1 }}
		one, err := near.New[int, int](s, s, o)
		must(t, err)
		defer one.Close(context.Background())
		other, err := near.New[int, int](s, s, o)
		must(t, err)
		defer other.Close(context.Background())
		time.Sleep(time.Second)
		go other.Take(t.Context(), 2, func(context.Context) (int, error) { time.Sleep(10 * time.Second); return 2, nil })
		time.Sleep(time.Second)
		go one.TakeMany(t.Context(), []int{1, 2}, func(context.Context, []int) (map[int]int, error) { return map[int]int{1: 1}, nil })
		time.Sleep(3 * time.Second)
		if value, err := one.Take(t.Context(), 1, func(context.Context) (int, error) { return 2, nil }); value != 2 || err != nil {
			t.Errorf("%d, %v: what was fetched three seconds ago", value, err)
		}
		time.Sleep(time.Minute)
	})
}

// TestTakeMany checks that values in memory are served, those in the store read at once,
// and the rest fetched by one call, under leases, and stored; and that all are in memory then.
func TestTakeMany(t *testing.T) {
	inRig(t, near.Options[string, string]{LocalExpire: time.Hour, NotFoundExpire: time.Minute, MaxLag: time.Hour}, func(t *testing.T, r *rig) {
		r.store("there", "1", 0)
		r.store("short", "2", time.Minute)
		r.store("k", "3", 0)
		r.want("here", "3", 1, 0)
		var asked []string
		take := func(reads int, fetched ...string) {
			t.Helper()
			asked = nil
			before := r.server.called("lease")
			got, err := r.TakeMany(t.Context(), []string{"k", "there", "k", "short", "new", "none"}, func(_ context.Context, missing []string) (map[string]string, error) {
				asked = append(asked, missing...)
				return map[string]string{"new": "4", "not asked for": "5"}, nil
			})
			want := map[string]string{"k": "3", "there": "1", "short": "2", "new": "4"}
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%v, %v", got, err)
			}
			if !slices.Equal(asked, fetched) || r.server.called("lease")-before != reads {
				t.Errorf("fetched %v with %d reads, want %v with %d", asked, r.server.called("lease")-before, fetched, reads)
			}
		}
		take(1, "new", "none")
		take(0)
		time.Sleep(time.Minute)
		for key, reads := range map[string]int{"there": 0, "new": 0, "short": 1, "none": 1} {
			if got := r.gets(key); got != reads {
				t.Errorf("%s: %d reads, want %d", key, got, reads)
			}
		}
	})
}

// TestTakeManyFails checks that the error of fetch comes with the values found, and leaves
// no lease; that without a store Away decides; and that changed values are not kept.
func TestTakeManyFails(t *testing.T) {
	inRig(t, near.Options[string, string]{MaxLag: time.Hour}, func(t *testing.T, r *rig) {
		r.store("there", "1", 0)
		failed := errors.New("failed")
		take := func(fetch func() (map[string]string, error)) (map[string]string, error) {
			return r.TakeMany(t.Context(), []string{"there", "k"}, func(context.Context, []string) (map[string]string, error) { return fetch() })
		}
		if got, err := take(func() (map[string]string, error) { return nil, failed }); !errors.Is(err, failed) || got["there"] != "1" {
			t.Errorf("%v, %v", got, err)
		}
		if len(r.server.items) != 1 {
			t.Errorf("the store has %v", r.server.items)
		}
		got, err := take(func() (map[string]string, error) {
			r.server.Del(t.Context(), "k")
			return map[string]string{"k": "old"}, nil
		})
		if err != nil || got["k"] != "old" || len(r.server.items) != 1 {
			t.Errorf("%v, %v, and the store has %v", got, err, r.server.items)
		}
		r.hand.Changed("k")
		r.want("after a late fill", "fetched", 1, 1)
		r.hand.ChangedAll()
		r.server.fail = func(string) bool { return true }
		for range 2 {
			time.Sleep(time.Hour)
			r.hand.vouch()
			got, err = take(func() (map[string]string, error) { return map[string]string{"k": "db", "there": "db"}, nil })
			if err != nil || got["k"] != "db" || got["there"] != "db" {
				t.Errorf("%v, %v", got, err)
			}
		}
		if n := r.Stats().Near.Bypasses; n != 2 {
			t.Errorf("%d bypassed", n)
		}
	})
}

// TestTakeManyFailsForAll checks that a caller that waits for a key that another call
// fails to load gets the error, and not that the key has no value.
func TestTakeManyFailsForAll(t *testing.T) {
	inRig(t, near.Options[string, string]{MaxLag: time.Hour}, func(t *testing.T, r *rig) {
		failed := errors.New("failed")
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				_, err := r.TakeMany(t.Context(), []string{"k"}, func(context.Context, []string) (map[string]string, error) {
					time.Sleep(time.Second)
					return nil, failed
				})
				if !errors.Is(err, failed) {
					t.Errorf("%v", err)
				}
			})
		}
		callers.Wait()
	})
}

// TestTakeManyFetchesFirst checks that what a call has leased is fetched before it waits for
// another caller, who may wait for that.
func TestTakeManyFetchesFirst(t *testing.T) {
	inRig(t, near.Options[string, string]{MaxLag: time.Hour}, func(t *testing.T, r *rig) {
		_, err := r.server.Lease(t.Context(), 2*time.Second, "other", "another")
		must(t, err)
		began := time.Now()
		fetches := map[time.Duration][]string{}
		got, err := r.TakeMany(t.Context(), []string{"other", "k", "another"}, func(_ context.Context, missing []string) (map[string]string, error) {
			fetches[time.Since(began)] = missing
			return map[string]string{"k": "1", "other": "2", "another": "3"}, nil
		})
		if err != nil || len(got) != 3 || len(fetches) != 2 || !slices.Equal(fetches[0], []string{"k"}) || len(fetches[2*time.Second]) != 2 {
			t.Errorf("%v, %v, with the fetches %v", got, err, fetches)
		}
	})
}

// TestTakeManyWaitsForAll checks that a call that waits for many keys asks for all at once.
func TestTakeManyWaitsForAll(t *testing.T) {
	inRig(t, near.Options[string, string]{MaxLag: time.Hour}, func(t *testing.T, r *rig) {
		keys := strings.Split("0123456789abcdefghijklmnopqrstuvwxyz", "")
		_, err := r.server.Lease(t.Context(), time.Second, keys...)
		must(t, err)
		r.server.delay = func() time.Duration { return time.Millisecond }
		began := time.Now()
		if _, err := r.TakeMany(t.Context(), keys, func(context.Context, []string) (map[string]string, error) { return nil, nil }); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 1010*time.Millisecond { // fake time
			t.Errorf("it took %v", took)
		}
	})
}

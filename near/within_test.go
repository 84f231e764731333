package near_test

import (
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// within takes key k, and says if the store was not asked as often as wanted.
func (r *rig) within(what string, age time.Duration, value string, reads int) {
	r.t.Helper()
	calls := r.server.called("lease")
	got, err := r.TakeWithin(r.t.Context(), "k", age, r.fetch)
	if n := r.server.called("lease") - calls; err != nil || got != value || n != reads {
		r.t.Errorf("%s: %q, %v with %d reads of the store, want %q with %d", what, got, err, n, value, reads)
	}
}

// TestWithin checks what is served from memory for an age: what was vouched for, or loaded, at
// most so long before the call; and nothing for an age of 0.
func TestWithin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{})
		r.store("k", "1", 0)
		r.want("a miss", "1", 1, 0)
		time.Sleep(300 * time.Millisecond)
		r.store("k", "2", 0) // nobody tells
		r.within("vouched for 300 ms ago", 300*time.Millisecond, "1", 0)
		r.within("the longest age", math.MaxInt64, "1", 0)
		r.within("too old", 300*time.Millisecond-1, "2", 1)
		r.want("a Take after it", "2", 0, 0)
		r.store("k", "3", 0)
		time.Sleep(100 * time.Millisecond)
		r.within("loaded 100 ms ago", 100*time.Millisecond, "2", 0)
		r.within("loaded earlier", 100*time.Millisecond-1, "3", 1)
		r.store("k", "4", 0)
		r.hand.vouch() // wrongly
		r.within("anew", 0, "4", 1)
		r.within("anew, again", -time.Second, "4", 1)
	})
}

// TestWithinWhileUnserved checks that an age longer than MaxLag is met from memory, and that a
// load of a Take while nothing is vouched for counts from its begin.
func TestWithinWhileUnserved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{})
		r.store("k", "1", 0)
		r.want("a miss", "1", 1, 0)
		r.silence()
		r.store("k", "2", 0)
		r.within("an age beyond MaxLag", 2*time.Second, "1", 0)
		r.want("lost", "2", 1, 0)
		time.Sleep(100 * time.Millisecond)
		r.store("k", "3", 0)
		r.within("loaded 100 ms ago", 100*time.Millisecond, "2", 0)
		r.within("too old", 100*time.Millisecond-1, "3", 1)
	})
}

// TestWithinOfUntoldValues checks that a value of whose change nobody tells is not served as one
// that was vouched for: it was fetched while the store refused it, or its key may not exist.
func TestWithinOfUntoldValues(t *testing.T) {
	for name, o := range map[string]near.Options[string, string]{
		"refused":       {},
		"may not exist": {MayExist: func(string) bool { return false }},
	} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, o)
			r.server.fail = func(op string) bool { return op == "fill" }
			r.Take(t.Context(), "k", r.fetch)
			time.Sleep(200 * time.Millisecond)
			r.hand.vouch()
			r.value = "newer"
			if got, err := r.Take(t.Context(), "k", r.fetch); got != "fetched" || err != nil {
				t.Fatalf("%s: %q, %v: it is not in memory", name, got, err)
			}
			if got, err := r.TakeWithin(t.Context(), "k", 100*time.Millisecond, r.fetch); got != "newer" || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		})
	}
}

// TestWithinJoins has callers come while a load is under way: they share one load that begins
// after they came, and none gets the result of the older one, of a Take or of a TakeWithin.
func TestWithinJoins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := new(hand)
		l, err := near.NewLocal(h, near.LocalOptions[string, string]{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close(context.Background())
		synctest.Wait()
		h.ChangedAll()
		h.vouch()
		var loads atomic.Int32
		load := func(context.Context, *cache.Load[string]) (string, error) {
			value := strconv.Itoa(int(loads.Add(1)))
			time.Sleep(time.Second)
			return value, nil
		}
		var callers sync.WaitGroup
		call := func(age time.Duration, want string) {
			callers.Go(func() {
				if got, err := l.TakeWithin(t.Context(), "k", age, load); got != want || err != nil {
					t.Errorf("within %v: %q, %v; want %q", age, got, err, want)
				}
			})
			synctest.Wait()
		}
		callers.Go(func() { l.Take(t.Context(), "k", load) })
		synctest.Wait()
		call(0, "2") // not the one of Take
		time.Sleep(500 * time.Millisecond)
		call(500*time.Millisecond, "2")
		for range 100 {
			call(0, "3")
		}
		call(500*time.Millisecond-1, "3")
		callers.Wait()
		if n := loads.Load(); n != 3 {
			t.Errorf("%d loads", n)
		}
	})
}

// TestWithinLeaves checks that callers return when their contexts end, and that those who come
// later do not wait for a load that ignores its context.
func TestWithinLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{Lease: 10 * time.Millisecond})
		var stuck sync.WaitGroup
		stuck.Add(1)
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			leave()
		}()
		began := time.Now()
		_, err := r.TakeWithin(ctx, "k", 0, func(context.Context) (string, error) { stuck.Wait(); return "late", nil })
		if err == nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		got, err := r.TakeWithin(t.Context(), "k", 0, r.fetch)
		if got != "fetched" || err != nil || time.Since(began) != time.Second {
			t.Errorf("%q, %v after %v", got, err, time.Since(began))
		}
		stuck.Done()
	})
}

// TestWithinAfterForget has a key change here while a load of a TakeWithin is under way: however
// old an answer may be, who comes after the change does not get the result of that load.
func TestWithinAfterForget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLocal(t, new(hand))
		value := "old"
		load := func(context.Context, *cache.Load[string]) (string, error) {
			read := value
			time.Sleep(time.Second)
			return read, nil
		}
		var callers sync.WaitGroup
		call := func(want string) {
			callers.Go(func() {
				if got, err := l.TakeWithin(t.Context(), "k", time.Hour, load); got != want || err != nil {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
			})
			synctest.Wait()
		}
		call("old")
		call("old")
		value = "new"
		l.Forget("k")
		call("new")
		call("new")
		callers.Wait()
		call("new")
		callers.Wait()
	})
}

// TestWithinFindsNothingLate has a load of a TakeWithin find after MaxLag that a key has no
// value. A Take that has come meanwhile, when nothing was served, loads anew: the key may have
// got a value since. So it does if the load was that of another Take.
func TestWithinFindsNothingLate(t *testing.T) {
	for name, joined := range map[string]bool{"own load": false, "load of a Take": true} {
		bubble(t, func(t *testing.T) {
			h := &gate{hand: new(hand)}
			l := newLocal(t, h)
			created := false
			load := func(_ context.Context, l *cache.Load[string]) (string, error) {
				found := created
				time.Sleep(2 * time.Second)
				if found {
					return "created", nil
				}
				l.NotFound = true
				return "", near.ErrNotFound
			}
			var callers sync.WaitGroup
			take := func() { callers.Go(func() { l.Take(t.Context(), "k", load) }) }
			if joined {
				h.asked = take
			}
			callers.Go(func() { l.TakeWithin(t.Context(), "k", 0, load) })
			synctest.Wait()
			h.Lost(nil)
			time.Sleep(1500 * time.Millisecond) // longer than MaxLag
			created = true
			if got, err := l.Take(t.Context(), "k", load); got != "created" || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			callers.Wait()
		})
	}
}

// A gate is a hand that calls a function when it is asked for the first time what it covers.
type gate struct {
	*hand
	asked func()
}

func (g *gate) Covers(key string) bool {
	if f := g.asked; f != nil {
		g.asked = nil
		f()
		time.Sleep(time.Millisecond)
	}
	return g.hand.Covers(key)
}

// newLocal returns a Local of strings that serves what is in memory.
func newLocal(t *testing.T, source interface {
	near.Source
	near.Watcher
	vouch()
}) *near.Local[string, string] {
	l, err := near.NewLocal(source, near.LocalOptions[string, string]{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	synctest.Wait()
	source.ChangedAll()
	source.vouch()
	return l
}

// TestGetWithin checks GetWithin of a Cache, and that no old value stands in while the store is away.
func TestGetWithin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, near.Options[string, string]{Away: near.Fail, ServeOn: time.Hour})
		if _, ok, err := r.GetWithin(t.Context(), "k", 0); ok || err != nil {
			t.Errorf("missing: %v, %v", ok, err)
		}
		r.store("k", "1", 0)
		r.want("a miss", "1", 1, 0)
		time.Sleep(100 * time.Millisecond)
		r.store("k", "2", 0)
		if got, ok, err := r.GetWithin(t.Context(), "k", 100*time.Millisecond); got != "1" || !ok || err != nil {
			t.Errorf("in memory: %q, %v, %v", got, ok, err)
		}
		if got, ok, err := r.GetWithin(t.Context(), "k", 0); got != "2" || !ok || err != nil {
			t.Errorf("anew: %q, %v, %v", got, ok, err)
		}
		r.server.fail = func(string) bool { return true }
		if got, ok, err := r.GetWithin(t.Context(), "k", 0); ok || err == nil {
			t.Errorf("without the store: %q, %v, %v: it stood in", got, ok, err)
		}
		if got, err := r.TakeWithin(t.Context(), "k", 0, r.fetch); err == nil {
			t.Errorf("without the store: %q, %v: it stood in", got, err)
		}
	})
}

// TestWithinHitAllocatesNothing counts the allocations of hits for an age.
func TestWithinHitAllocatesNothing(t *testing.T) {
	h := &hand{began: make(chan struct{})}
	c, err := near.New(newServer(), h, near.Options[string, string]{MaxLag: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	<-h.began
	h.ChangedAll()
	h.vouch()
	fetch := func(context.Context) (string, error) { return "v", nil }
	c.Take(t.Context(), "k", fetch)
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() { c.TakeWithin(ctx, "k", time.Hour, fetch) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package near_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/near"
)

// A hand is a source that tells what a test says.
type hand struct {
	near.Watcher
	ended bool          // its Watch returns at once
	began chan struct{} // closed when it is watched; nil where a bubble knows
}

func (h *hand) Watch(ctx context.Context, w near.Watcher) {
	h.Watcher = w
	if h.began != nil {
		close(h.began)
	}
	if h.ended {
		h.ChangedAll()
		h.vouch()
		return
	}
	<-ctx.Done()
}

func (h *hand) Covers(key string) bool { return (*server)(nil).Covers(key) }

// vouch says that all up to now has been told.
func (h *hand) vouch() { h.Current(time.Now()) }

// A rig is a cache of strings, its store and its source.
type rig struct {
	*near.Cache[string, string]
	t       *testing.T
	server  *server
	hand    *hand
	fetched int
	value   string
	err     error
}

// newRig returns a rig whose cache serves, if it is connected.
func newRig(t *testing.T, o near.Options[string, string]) *rig {
	t.Helper()
	r := idleRig(t, o)
	r.serve()
	return r
}

// idleRig returns a rig whose source has told nothing yet.
func idleRig(t *testing.T, o near.Options[string, string]) *rig {
	t.Helper()
	r := &rig{t: t, server: newServer(), hand: new(hand), value: "fetched"}
	r.Cache = r.join(struct{ near.Leaser }{r.server}, o) // without lists, for which others ask it
	return r
}

// serve has the source say that it reports all changes from now on.
func (r *rig) serve() {
	r.hand.ChangedAll()
	r.hand.vouch()
}

func (r *rig) join(store near.Store, o near.Options[string, string]) *near.Cache[string, string] {
	r.t.Helper()
	c, err := near.New(store, r.hand, o)
	must(r.t, err)
	r.t.Cleanup(func() { c.Close(context.Background()) })
	synctest.Wait() // for Watch
	return c
}

func (r *rig) fetch(context.Context) (string, error) {
	r.fetched++
	return r.value, r.err
}

// want takes key k, and says if it is not so.
func (r *rig) want(what, value string, reads, fetched int) {
	r.t.Helper()
	r.wants(what, value, nil, reads, fetched)
}

// wants is want, also for an error.
func (r *rig) wants(what, value string, wantErr error, reads, fetched int) {
	r.t.Helper()
	before, calls := r.fetched, r.server.called("lease")
	got, err := r.Take(r.t.Context(), "k", r.fetch)
	if err != wantErr || err == nil && got != value || r.server.called("lease")-calls != reads || r.fetched-before != fetched {
		r.t.Errorf("%s: Take = %q, %v with %d reads of the store and %d fetches; want %q, %v with %d and %d",
			what, got, err, r.server.called("lease")-calls, r.fetched-before, value, wantErr, reads, fetched)
	}
}

// gets returns how often a Get of a key reads the store.
func (r *rig) gets(key string) (reads int) {
	before := r.server.called("get")
	r.Get(r.t.Context(), key)
	return r.server.called("get") - before
}

// takeFor takes a key with a deadline, in fake time.
func (r *rig) takeFor(d time.Duration, key string) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), d) // fake time
	defer cancel()
	_, err := r.Take(ctx, key, r.fetch)
	return err
}

func (r *rig) store(key, value string, ttl time.Duration) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	r.server.put(key, near.Item{State: near.Found, Value: []byte(strconv.Quote(value)), TTL: ttl})
}

// bubble runs a test in fake time.
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

// inRig runs a test in fake time, with a rig whose cache serves.
func inRig(t *testing.T, o near.Options[string, string], f func(t *testing.T, r *rig)) {
	t.Helper()
	bubble(t, func(t *testing.T) { f(t, newRig(t, o)) })
}

// TestServesWhenConfirmed checks that before ChangedAll and then Current, and from MaxLag after
// the last Current before Lost on until both have come again, each value is kept for MaxLag
// after its load began; and that ChangedAll forgets what was there before.
func TestServesWhenConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lag = time.Second
		r := idleRig(t, near.Options[string, string]{})
		n := 0
		next := func() string { n++; r.store("k", strconv.Itoa(n), 0); return strconv.Itoa(n) }
		brief := func(what string) {
			t.Helper()
			value := next()
			time.Sleep(lag)
			r.want(what, value, 1, 0)
			next()
			time.Sleep(lag - 1)
			r.want(what+", until MaxLag", value, 0, 0)
		}
		brief("before anything")
		r.hand.vouch()
		brief("after a Current alone")
		r.hand.ChangedAll()
		brief("after ChangedAll")
		value := next()
		r.hand.vouch()
		time.Sleep(lag)
		r.want("confirmed", value, 1, 0)
		for range 8 {
			r.hand.vouch()
			time.Sleep(lag / 2)
			r.want("confirmed, again", value, 0, 0)
		}

		r.hand.Lost(errServer)
		time.Sleep(lag / 2)
		r.want("lost, at MaxLag after the last Current", value, 0, 0)
		value = next()
		time.Sleep(time.Nanosecond)
		r.want("lost, after that", value, 1, 0)
		brief("lost")
		r.hand.vouch()
		brief("lost, after a Current")
		r.hand.ChangedAll()
		r.want("connected again", strconv.Itoa(n), 1, 0)
		if s := r.Stats(); s.Near.Reconnects != 1 || s.Near.ForgottenAll != 2 || s.Near.Unserved != 7 || s.Near.Serving {
			t.Errorf("%+v", s)
		}
		r.hand.vouch()
		if s := r.Stats(); !s.Near.Serving {
			t.Errorf("%+v", s)
		}
	})
}

// TestWatchThatReturns checks that a Watch that returns counts as Lost.
func TestWatchThatReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := &rig{t: t, server: newServer(), hand: &hand{ended: true}}
		r.Cache = r.join(r.server, near.Options[string, string]{})
		time.Sleep(time.Second + 1)
		if s := r.Stats().Near; s.Serving || s.ForgottenAll != 1 || s.Reconnects != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestMaxLag checks that values in memory are served up to MaxLag after the moment that
// was vouched for, and not a nanosecond longer.
func TestMaxLag(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const lag = 400 * time.Millisecond
		r := newRig(t, near.Options[string, string]{MaxLag: lag})
		r.store("k", "1", 0)
		r.want("at first", "1", 1, 0)
		start := time.Now()
		until := func(d time.Duration, reads int) {
			t.Helper()
			time.Sleep(time.Until(start.Add(d)))
			synctest.Wait()
			r.want("after "+d.String(), "1", reads, 0)
		}
		until(lag, 0)
		until(lag+1, 1)
		r.hand.Current(start.Add(250 * time.Millisecond)) // late, but before doubt
		until(650*time.Millisecond, 0)
		until(650*time.Millisecond+1, 1)
		r.hand.Current(start.Add(250 * time.Millisecond)) // too late
		until(650*time.Millisecond+lag, 0)                // what was read since is kept for MaxLag
		until(650*time.Millisecond+lag+1, 1)
		vouched := func() {
			t.Helper()
			time.Sleep(lag)
			r.hand.vouch()
			start = time.Now()
			r.want("vouched for again", "1", 1, 0)
		}
		vouched()
		r.hand.Current(start.Add(-lag / 4)) // less than was said
		until(lag, 0)
		r.hand.Current(start.Add(time.Hour)) // of the future, which nobody can know
		until(2*lag, 0)
		until(2*lag+1, 1)
		vouched()
		for i := range 20 { // as it mostly is
			r.hand.vouch()
			until(time.Duration(i+1)*lag/2, 0)
		}
		if s := r.Stats().Near; s.Lag != lag/2 || !s.Serving {
			t.Errorf("%+v", s)
		}
		until(30*lag, 1)
	})
}

// TestChanged checks that a changed key is forgotten, with every load of it under way; a
// key of another cache is ignored; a text that is no key forgets all.
func TestChanged(t *testing.T) {
	inRig(t, near.Options[string, string]{Prefix: "p:"}, func(t *testing.T, r *rig) {
		r.store("p:k", "1", 0)
		r.want("at first", "1", 1, 0)
		r.hand.Changed("k", "q:k", "p:other")
		r.want("others changed", "1", 0, 0)
		near.ChangedIf(r.hand.Watcher, func(key string) bool { return key != "p:k" })
		r.want("others changed, as a function says", "1", 0, 0)
		r.hand.Changed("p:other", "p:k")
		r.want("changed", "1", 1, 0)
		r.want("after that", "1", 0, 0)
		r.hand.ChangedAll()
		r.want("all changed", "1", 1, 0)
		if s := r.Stats().Near; s.Changes != 3 || s.ForgottenAll != 2 || s.RemoteHits != 3 {
			t.Errorf("%+v", s)
		}

		numbers, err := near.New(r.server, r.hand, near.Options[int, int]{})
		must(t, err)
		defer numbers.Close(t.Context())
		synctest.Wait()
		r.serve()
		r.server.put("7", near.Item{State: near.Found, Value: []byte("70")})
		for range 2 {
			numbers.Get(t.Context(), 7)
		}
		r.hand.Changed("seven")
		numbers.Get(t.Context(), 7)
		if n := r.server.called("get"); n != 2 {
			t.Errorf("%d reads, want one at first and one after what is no key", n)
		}
	})
}

// TestChangeDuringARead checks that a value read before a change is not kept, whether the
// change is told before or after the answer.
func TestChangeDuringARead(t *testing.T) {
	for name, tell := range map[string]func(w near.Watcher){
		"Changed":    func(w near.Watcher) { w.Changed("k") },
		"ChangedAll": near.Watcher.ChangedAll,
		"ChangedIf":  func(w near.Watcher) { near.ChangedIf(w, func(key string) bool { return key == "k" }) },
	} {
		inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) {
			r.store("k", "1", 0)
			r.server.delay = func() time.Duration { return 10 * time.Millisecond }
			// The answer is on its way.
			time.AfterFunc(15*time.Millisecond, func() { r.store("k", "2", 0); tell(r.hand.Watcher) })
			r.want(name+": read before the change", "1", 1, 0)
			r.want(name+": and after it", "2", 1, 0)
			r.want(name+": and again", "2", 0, 0)
		})
	}
}

// TestOwnWrites checks that after Del and Set no caller in this process gets the old
// value, also if the store returned an error. A value that was Set is read from the store
// once more.
func TestOwnWrites(t *testing.T) {
	for _, op := range []string{"", "del", "del reply", "set", "set reply"} {
		inRig(t, near.Options[string, string]{RetryDel: -1}, func(t *testing.T, r *rig) {
			for name, write := range map[string]func() error{
				"set": func() error { return r.Set(t.Context(), "k", "2") },
				"del": func() error { return r.Del(t.Context(), "other", "k") },
			} {
				r.server.fail = nil
				r.store("k", "1", 0)
				r.hand.Changed("k")
				r.want("at first", "1", 1, 0)
				r.server.fail = func(now string) bool { return now == op }
				failed := op != "" && op[:3] == name
				if err := write(); errors.Is(err, near.ErrStore) != failed {
					t.Errorf("%s with failing %q: %v", name, op, err)
				}
				before := r.server.called("lease")
				r.Take(t.Context(), "k", r.fetch)
				if r.server.called("lease") == before {
					t.Errorf("after %s, with failing %q, the store is not asked", name, op)
				}
			}
		})
	}
}

// TestLocalTTL checks that a value stays in memory no longer than in the store, counted
// from the beginning of the read, whatever the jitter, and no longer than LocalExpire.
func TestLocalTTL(t *testing.T) {
	for _, c := range []struct{ there, here, want time.Duration }{
		{time.Minute, 0, time.Minute},
		{time.Minute, time.Second, time.Second},
		{time.Second, time.Minute, time.Second},
		{0, time.Second, time.Second},
		{0, 0, 0},
	} {
		inRig(t, near.Options[string, string]{LocalExpire: c.here, MaxLag: time.Hour}, func(t *testing.T, r *rig) {
			r.server.delay = func() time.Duration { return 100 * time.Millisecond }
			r.store("k", "1", c.there)
			began := time.Now()
			r.want("at first", "1", 1, 0)
			arrived := time.Now()
			end := began.Add(c.want)
			if c.here > 0 && c.here == c.want {
				end = arrived.Add(c.here)
			}
			if c.want == 0 {
				end = began.Add(30 * time.Minute)
			}
			time.Sleep(time.Until(end) - 100*time.Millisecond - 1) // it may count from when it was asked
			r.want("just before its end", "1", 0, 0)
			time.Sleep(100*time.Millisecond + 1)
			if c.want > 0 && r.gets("k") == 0 {
				t.Errorf("%+v: it is here when it ends", c)
			}
		})
	}
	bubble(t, func(t *testing.T) { // with jitter, and what has ended on the way
		for range 100 {
			r := newRig(t, near.Options[string, string]{Jitter: 0.9, MaxLag: time.Hour})
			r.store("k", "1", time.Second)
			r.want("at first", "1", 1, 0)
			time.Sleep(time.Second)
			r.want("at its end", "fetched", 1, 1)
		}
		r := newRig(t, near.Options[string, string]{})
		r.store("k", "1", time.Second)
		r.server.delay = func() time.Duration { return 999 * time.Millisecond }
		r.want("on the way", "1", 1, 0)
		r.want("ended on the way", "fetched", 1, 1)
	})
}

// TestLongTimes checks that the longest time in each option, and in each answer of the store
// and the source, is a long time.
func TestLongTimes(t *testing.T) {
	const long = math.MaxInt64
	for _, jitter := range []float64{0, 0.1, 0.999} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, near.Options[string, string]{
				Expire: long, LocalExpire: long, NotFoundExpire: long, MaxLag: long, ServeOn: long, Timeout: long, Lease: long, Jitter: jitter,
			})
			take := func(key string, err error) {
				t.Helper()
				if value, got := r.Take(t.Context(), key, r.fetch); got != err || err == nil && value != "fetched" {
					t.Errorf("jitter %v: Take(%q) = %q, %v", jitter, key, value, got)
				}
			}
			ask := func() {
				t.Helper()
				for i := range 40 {
					key := strconv.Itoa(i)
					r.err = nil
					take("set "+key, nil)
					take("fetched "+key, nil)
					r.err = near.ErrNotFound
					take("none "+key, near.ErrNotFound)
				}
				r.err = nil
			}
			for i := range 40 {
				must(t, r.Set(t.Context(), "set "+strconv.Itoa(i), "fetched"))
			}
			ask()
			for key := range r.server.items {
				if item := r.server.look(key); item.TTL < 24*time.Hour {
					t.Errorf("jitter %v: the store has %q for %v", jitter, key, item.TTL)
				}
			}
			reads := r.server.called("lease")
			if r.fetched != 80 || reads != 120 {
				t.Errorf("jitter %v: %d fetches and %d reads at first", jitter, r.fetched, reads)
			}
			time.Sleep(24 * time.Hour)
			ask()
			r.hand.Lost(errServer)
			r.server.fail = func(string) bool { return true }
			take("set 1", nil) // by ServeOn
			if again := r.server.called("lease") - reads; again != 0 || r.fetched != 80 {
				t.Errorf("jitter %v: after a day %d reads and %d fetches, want them from memory", jitter, again, r.fetched-80)
			}
		})
	}
	inRig(t, near.Options[string, string]{MaxLag: 48 * time.Hour, Lease: long}, func(t *testing.T, r *rig) { // a lease of another instance
		r.server.Lease(t.Context(), long, "k")
		go func() {
			time.Sleep(24 * time.Hour)
			r.store("k", "1", long)
			r.hand.Changed("k")
		}()
		r.want("the lease is over", "1", 3, 0)
		r.want("read since", "1", 1, 0)
		r.want("kept", "1", 0, 0)
	})
	inRig(t, near.Options[string, string]{}, func(t *testing.T, r *rig) { // a TTL that is over since long
		r.server.put("k", near.Item{State: near.Found, Value: []byte(`"1"`), TTL: math.MinInt64})
		r.server.delay = func() time.Duration { return time.Millisecond }
		r.want("over", "1", 1, 0)
		r.want("over, again", "1", 1, 0)
	})
	bubbleBegan := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, asOf := range []time.Time{{}, bubbleBegan.Add(-long)} {
		bubble(t, func(t *testing.T) {
			r := idleRig(t, near.Options[string, string]{})
			r.store("k", "1", 0)
			time.Sleep(time.Second)
			r.hand.ChangedAll()
			r.hand.Current(asOf)
			r.want("vouched for long ago", "1", 1, 0)
			time.Sleep(time.Second)
			r.want("vouched for long ago, again", "1", 1, 0)
			if lag := r.Stats().Near.Lag; lag < time.Second {
				t.Errorf("%v: the lag is %v", asOf, lag)
			}
		})
	}
}

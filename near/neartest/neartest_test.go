package neartest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/near"
	"github.com/pinwheel-cache/pinwheel/near/memory"
)

func TestMain(m *testing.M) { settle.VerifyTestMain(m) }

const lag = 100 * time.Millisecond

// TestBadOnesFail gives Test stores and sources that break one promise each.
//
// Catches: a promise that is not tested.
func TestBadOnesFail(t *testing.T) {
	for _, c := range []struct {
		bad, promise string
		make         func(s *memory.Store) Subject
	}{
		{"forgets a byte", "StoreKeepsEveryByte", over(func(s *memory.Store) near.Store { return cutting{s} })},
		{"answers in any order", "StoreAnswersInOrder", over(func(s *memory.Store) near.Store { return turning{s} })},
		{"keeps what is there", "StoreReplacesAndRemoves", over(func(s *memory.Store) near.Store { return adding{s} })},
		{"ignores TTLs", "StoreExpires", over(func(s *memory.Store) near.Store { return lasting{s} })},
		{"reads a replica", "StoreReadsWhatIsCurrent", over(func(s *memory.Store) near.Store { return &replica{Store: s} })},
		{"gives a lease to all", "LeaseIsForOne", over(func(s *memory.Store) near.Store { return generous{s} })},
		{"takes a late Fill", "LeaseEnds",
			over(func(s *memory.Store) near.Store { return &forgetful{Store: s, always: true} })},
		{"DelPrefix forgets leases", "LeaseEnds", over(func(s *memory.Store) near.Store { return &forgetful{Store: s} })},
		{"DelPrefix forgets leases", "FleetRemovesPrefixes",
			over(func(s *memory.Store) near.Store { return &forgetful{Store: s} })},
		{"members stay", "FleetHasLists", over(func(s *memory.Store) near.Store { return crowded{s} })},
		{"tells early", "SourceTellsOfEachChange",
			func(s *memory.Store) Subject { e := &early{Store: s}; return Subject{Store: e, Source: e} }},
		{"drops", "SourceTellsOfEachChange", through(func(w near.Watcher) near.Watcher { return &dropping{Watcher: w} })},
		{"drops", "SourceTellsBeforeItVouches", through(func(w near.Watcher) near.Watcher { return &dropping{Watcher: w} })},
		{"drops", "CachesAgree", through(func(w near.Watcher) near.Watcher { return &dropping{Watcher: w} })},
		{"vouches first", "SourceTellsBeforeItVouches",
			through(func(w near.Watcher) near.Watcher { return &reordering{Watcher: w} })},
		{"vouches a moment too late", "SourceTellsBeforeItVouches",
			through(func(w near.Watcher) near.Watcher { return slow(w, 5*time.Millisecond, false) })},
		{"vouches for the future", "SourceTellsBeforeItVouches",
			through(func(w near.Watcher) near.Watcher { return hopeful{w} })},
		{"vouches while lost", "SourceTellsBeforeItVouches",
			through(func(w near.Watcher) near.Watcher { return careless{w} })},
	} {
		t.Run(c.bad+"/"+c.promise, func(t *testing.T) {
			t.Parallel() // it mostly waits
			s := c.make(memory.New())
			s.MaxLag = lag
			failures := prove(t, c.promise, s)
			if len(failures) == 0 {
				t.Errorf("%s: %s holds", c.bad, c.promise)
			} else {
				t.Log(failures[0])
			}
		})
	}
}

// over returns a store that wraps one, whose source is good.
func over(wrap func(s *memory.Store) near.Store) func(s *memory.Store) Subject {
	return func(s *memory.Store) Subject { return Subject{Store: wrap(s), Source: s} }
}

// prove returns what the proof of a promise finds wrong with a subject.
func prove(t *testing.T, name string, s Subject) (failures []string) {
	i := slices.IndexFunc(promises, func(p promise) bool { return p.name == name })
	r := &report{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		promises[i].test(newTrial(r, s))
	}()
	<-done
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
	return r.failures
}

// A report is a test that may fail.
type report struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *report) Error(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprint(args...))
}

func (r *report) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }
func (r *report) Fatal(args ...any)                 { r.Error(args...); runtime.Goexit() }
func (r *report) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }
func (r *report) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }

type cutting struct{ *memory.Store }

func (s cutting) Set(ctx context.Context, key string, item near.Item) error {
	item.Value = []byte(strings.TrimRight(string(item.Value), "\x00"))
	return s.Store.Set(ctx, key, item)
}

type turning struct{ *memory.Store }

func (s turning) Get(ctx context.Context, keys ...string) ([]near.Item, error) {
	items, err := s.Store.Get(ctx, keys...)
	slices.Reverse(items)
	return items, err
}

type adding struct{ *memory.Store }

func (s adding) Set(ctx context.Context, key string, item near.Item) error {
	items, err := s.Store.Lease(ctx, time.Minute, key)
	if err == nil {
		_, err = s.Store.Fill(ctx, key, items[0].Token, item)
	}
	return err
}

type lasting struct{ *memory.Store }

func (s lasting) Set(ctx context.Context, key string, item near.Item) error {
	if items, _ := s.Store.Get(ctx, key); items[0].TTL > 0 {
		item.TTL = items[0].TTL
	}
	return s.Store.Set(ctx, key, item)
}

// A replica reads what was there a moment ago.
type replica struct {
	*memory.Store
	last []near.Item
	mu   sync.Mutex
}

func (s *replica) Get(ctx context.Context, keys ...string) ([]near.Item, error) {
	items, err := s.Store.Get(ctx, keys...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = items
	}
	items, s.last = s.last, items
	return items, err
}

type generous struct{ *memory.Store }

func (s generous) Lease(ctx context.Context, life time.Duration, keys ...string) ([]near.Item, error) {
	items, err := s.Store.Lease(ctx, life, keys...)
	for i := range items {
		if items[i].State == near.Leased {
			items[i].State = near.Missing
		}
	}
	return items, err
}

// A forgetful store takes a Fill by a lease that a DelPrefix has ended, or by any.
type forgetful struct {
	*memory.Store
	always, swept bool
}

func (s *forgetful) DelPrefix(ctx context.Context, prefix string) (int, error) {
	s.swept = true
	return s.Store.DelPrefix(ctx, prefix)
}

func (s *forgetful) Fill(ctx context.Context, key, token string, item near.Item) (bool, error) {
	if s.always || s.swept {
		return true, s.Store.Set(ctx, key, item)
	}
	return s.Store.Fill(ctx, key, token, item)
}

type crowded struct{ *memory.Store }

func (s crowded) Withdraw(context.Context, string, string) error { return nil }

// An early store tells of a change before it makes it.
type early struct {
	*memory.Store
	mu  sync.Mutex
	all []near.Watcher
}

func (s *early) Set(ctx context.Context, key string, item near.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.all {
		w.Changed(key)
	}
	time.Sleep(5 * time.Millisecond)
	return s.Store.Set(ctx, key, item)
}

func (s *early) Watch(ctx context.Context, w near.Watcher) {
	s.mu.Lock()
	s.all = append(s.all, w)
	s.mu.Unlock()
	s.Store.Watch(ctx, deaf{w})
}

// A deaf watcher hears of no change.
type deaf struct{ near.Watcher }

func (deaf) Changed(...string) {}

// through returns a store whose source tells watchers what wrap makes of them.
func through(wrap func(near.Watcher) near.Watcher) func(s *memory.Store) Subject {
	return func(s *memory.Store) Subject { return Subject{Store: s, Source: wrapping{s, wrap}} }
}

type wrapping struct {
	near.Source
	wrap func(near.Watcher) near.Watcher
}

func (s wrapping) Watch(ctx context.Context, w near.Watcher) {
	s.Source.Watch(ctx, lagging{s.wrap(w), near.MaxLag(w)})
}

type lagging struct {
	near.Watcher
	maxLag time.Duration
}

func (w lagging) MaxLag() time.Duration { return w.maxLag }

type dropping struct {
	near.Watcher
	n int
}

func (w *dropping) Changed(keys ...string) {
	if w.n++; w.n%4 == 0 {
		w.Watcher.Changed(keys...)
	}
}

// A reordering watcher hears a Current before the changes that it vouches for.
type reordering struct {
	near.Watcher
	held []string
}

func (w *reordering) Changed(keys ...string) { w.held = append(w.held, keys...) }

func (w *reordering) Current(asOf time.Time) {
	w.Watcher.Current(asOf)
	w.Watcher.Changed(w.held...)
	w.held = nil
}

// A late watcher is told everything some time later: a Current of the moment that it vouches for, or, which is wrong, of
// that in which it comes.
type late struct {
	near.Watcher
	after  time.Duration
	honest bool
	mu     sync.Mutex
	events []func()
}

func slow(w near.Watcher, after time.Duration, honest bool) near.Watcher {
	return &late{Watcher: w, after: after, honest: honest}
}

func (w *late) later(event func()) {
	w.mu.Lock()
	w.events = append(w.events, event)
	w.mu.Unlock()
	time.AfterFunc(w.after, func() { // timers may be called in any order, events are not
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events[0]()
		w.events = w.events[1:]
	})
}

func (w *late) Changed(keys ...string) { w.later(func() { w.Watcher.Changed(keys...) }) }
func (w *late) ChangedAll()            { w.later(w.Watcher.ChangedAll) }
func (w *late) Current(asOf time.Time) {
	w.later(func() {
		if !w.honest {
			asOf = time.Now()
		}
		w.Watcher.Current(asOf)
	})
}

type hopeful struct{ near.Watcher }

func (w hopeful) Current(asOf time.Time) { w.Watcher.Current(asOf.Add(time.Hour)) }

type careless struct{ near.Watcher }

func (w careless) Current(asOf time.Time) {
	w.Watcher.Lost(context.Canceled)
	w.Watcher.Current(asOf)
}

// A hasty cache has a Revoke that waits for its own MaxLag, not for that of the other instances.
type hasty struct {
	*near.Cache[int, int]
	maxLag time.Duration
}

func (c hasty) Revoke(ctx context.Context, keys ...int) error {
	err := c.Del(ctx, keys...)
	time.Sleep(c.maxLag)
	return err
}

// TestRevokeIsJudged lets two instances revoke keys, one of which has a short MaxLag, and the other one a long one and a
// source that tells it late, and does not vouch for more.
//
// Catches: an oracle that takes a Revoke that waits for the MaxLag of its own instance.
func TestRevokeIsJudged(t *testing.T) {
	for name, bad := range map[string]bool{"of near": false, "hasty": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			s := memory.New()
			var f Traffic
			for _, maxLag := range []time.Duration{lag / 2, 2 * lag, lag / 2, 2 * lag} {
				source := near.Source(s)
				if maxLag > lag {
					source = wrapping{s, func(w near.Watcher) near.Watcher { return slow(w, lag, true) }}
				}
				c, err := near.New[int, int](s, source, near.Options[int, int]{MaxLag: maxLag})
				settle.Must(t, err)
				defer c.Close(context.Background())
				if bad {
					f.Add(hasty{c, maxLag}, maxLag)
				} else {
					f.Add(c, maxLag)
				}
			}
			if f.Run(t, f.Revoke, func() {
				if bad {
					f.UntilWrong()
				}
			}); !bad {
				f.Verdict(t)
			} else if f.wrongs() == 0 || !strings.Contains(f.errs[0].Error(), "removed from the whole fleet") {
				t.Errorf("%d answers are wrong: %v", f.wrongs(), f.errs)
			}
		})
	}
}

package main

import (
	"bytes"
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// withFirstOperations returns a context that ends when a run has done something.
func withFirstOperations(t *testing.T, s *soak) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for s.total() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	return ctx, cancel
}

// rarely says yes to about one call in n.
func rarely(n int) bool { return rand.IntN(n) == 0 }

type (
	options = cache.Options[uint64, uint64]
	caches  = store[uint64, uint64]
	events  = cache.Event[uint64, uint64]
)

// listening returns an opener for a cache that tells onRemove of its events instead
// of the program, which tell does.
func listening(onRemove func(e events, tell func(events))) opener[uint64, uint64] {
	return func(o options) caches {
		tell := o.OnRemove
		o.OnRemove = func(e events) { onRemove(e, tell) }
		return openCache(o)
	}
}

// memory is a cache that remembers what was set and lets a fault use it.
type memory struct {
	caches
	mu     sync.Mutex
	before map[uint64]uint64 // the value before the last of each key
	last   map[uint64]uint64
}

func remembering(fault func(m *memory) caches) opener[uint64, uint64] {
	return func(o options) caches {
		return fault(&memory{caches: openCache(o), before: make(map[uint64]uint64), last: make(map[uint64]uint64)})
	}
}

func (m *memory) Set(key, value uint64) {
	m.caches.Set(key, value)
	m.remember(key, value)
}

func (m *memory) SetWithExpire(key, value uint64, ttl time.Duration) {
	m.caches.SetWithExpire(key, value, ttl)
	m.remember(key, value)
}

func (m *memory) remember(key, value uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before[key], m.last[key] = m.last[key], value
}

func (m *memory) recall(of map[uint64]uint64, key uint64) (uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := of[key]
	return value, ok && value != 0
}

type stale struct{ *memory }

func (s stale) Get(key uint64) (uint64, bool) {
	value, ok := s.caches.Get(key)
	if old, known := s.recall(s.before, key); ok && known && rarely(100) {
		return old, true
	}
	return value, ok
}

type immortal struct{ *memory }

func (s immortal) Get(key uint64) (uint64, bool) {
	value, ok := s.caches.Get(key)
	if old, known := s.recall(s.last, key); !ok && known {
		return old, true
	}
	return value, ok
}

type forgetful struct{ caches }

func (s forgetful) Get(key uint64) (uint64, bool) {
	if rarely(100) {
		return 0, false
	}
	return s.caches.Get(key)
}

type misplaced struct{ caches }

func (s misplaced) Get(key uint64) (uint64, bool) {
	value, ok := s.caches.Get(key)
	if rarely(100) {
		value += 1 << numberBits
	}
	return value, ok
}

type impatient struct{ caches }

func (s impatient) SetWithExpire(key, value uint64, ttl time.Duration) {
	s.caches.SetWithExpire(key, value, ttl/2)
}

type deaf struct{ caches } // to Del

func (s deaf) Del(key uint64) bool { return rarely(10) || s.caches.Del(key) }

type undying struct{ caches } // whatever Expire says

func (s undying) Expire(key uint64) bool { return rarely(10) || s.caches.Expire(key) }

type oversized struct{ caches }

func (s oversized) Len() int { return s.caches.Len() + 1000 }

type separate struct{ caches } // fetches

func (s separate) Take(key uint64, fetch func() (uint64, error)) (uint64, error) {
	if value, ok := s.Get(key); ok {
		return value, nil
	}
	value, err := fetch()
	if err == nil {
		s.Set(key, value)
	}
	return value, err
}

type miscounting struct{ caches }

func (s miscounting) Stats() stats.Snapshot {
	x := s.caches.Stats()
	x.Hits += x.Hits / 100
	return x
}

type twofold struct{ caches }

func (s twofold) All() iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) {
		for k, v := range s.caches.All() {
			if !yield(k, v) || rarely(10) && !yield(k, v) {
				return
			}
		}
	}
}

func with(fault func(caches) caches) opener[uint64, uint64] {
	return func(o options) caches { return fault(openCache(o)) }
}

// delayed keeps an event back until the next one of its key.
func delayed() opener[uint64, uint64] {
	var mu sync.Mutex
	kept := make(map[uint64]events)
	return listening(func(e events, tell func(events)) {
		mu.Lock()
		old, ok := kept[e.Key]
		delete(kept, e.Key)
		if !ok && e.Cause == cache.Replaced && rarely(4) {
			kept[e.Key] = e
			mu.Unlock()
			return
		}
		mu.Unlock()
		tell(e)
		if ok {
			tell(old)
		}
	})
}

// TestBroken gives the checker caches with a fault each.
//
// Catches: a check that sees nothing.
func TestBroken(t *testing.T) {
	for name, c := range map[string]struct {
		open opener[uint64, uint64]
		want string // in the report; with | between them, one of several
	}{
		"drops a callback": {listening(func(e events, tell func(events)) {
			if !rarely(20) {
				tell(e)
			}
		}), "before value|OnRemove was called"},
		"doubles a callback": {listening(func(e events, tell func(events)) {
			tell(e)
			if rarely(20) {
				tell(e)
			}
		}), "reported before"},
		"another cause": {listening(func(e events, tell func(events)) {
			if e.Cause == cache.Replaced && rarely(100) {
				e.Cause = cache.Expired
			}
			tell(e)
		}), "as expired"},
		"an impossible cause": {listening(func(e events, tell func(events)) {
			e.Cause = cache.Evicted
			tell(e)
		}), "never full"},
		"too many callbacks at once": {func(o options) caches {
			o.Workers = 16
			return openCache(o)
		}, "calls of OnRemove at once"},
		"callbacks out of order":   {delayed(), "before value|reported before or never"},
		"a stale value":            {remembering(func(m *memory) caches { return stale{m} }), "found"},
		"a value past its time":    {remembering(func(m *memory) caches { return immortal{m} }), "found"},
		"a lost value":             {with(func(c caches) caches { return forgetful{c} }), "was not found"},
		"the value of another key": {with(func(c caches) caches { return misplaced{c} }), "the value is number"},
		"expires too early":        {with(func(c caches) caches { return impatient{c} }), "value"},
		"does not delete":          {with(func(c caches) caches { return deaf{c} }), "value"},
		"does not expire":          {with(func(c caches) caches { return undying{c} }), "value"},
		"more than the limit":      {with(func(c caches) caches { return oversized{c} }), "the limit is"},
		"two fetches at once":      {with(func(c caches) caches { return separate{c} }), "second fetch|Take of key|reported"},
		"counts wrongly":           {with(func(c caches) caches { return miscounting{c} }), "hits and"},
		"an entry twice":           {with(func(c caches) caches { return twofold{c} }), "All of key"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			s := manned(t, &out, c.open, "everything", "stampede")
			wantViolation(t, s, &out, c.want)
		})
	}
}

// manned returns a run with one cache. At the end of the test it is closed, as a run that
// finds a violation leaves everything as it is.
func manned(t *testing.T, out *bytes.Buffer, open opener[uint64, uint64], phases ...string) *soak {
	c := short(out)
	c.duration, c.patience = time.Minute, 10*time.Second
	s := newSoak(c)
	s.phases = slices.DeleteFunc(slices.Clone(s.phases), func(p phase) bool { return !slices.Contains(phases, p.name) })
	s.subjects = []subject{newTarget(spec[uint64, uint64]{
		form: numbers(), size: 300, listens: true,
		options:  options{Name: "manned", Limit: 400, Expire: 200 * time.Millisecond, Workers: 2},
		callback: sometimes(200, slow),
	}, open, s.failed)}
	t.Cleanup(s.subjects[0].close)
	return s
}

// wantViolation wants a run to end with a report that says a thing, with all that is
// needed to understand it.
func wantViolation(t *testing.T, s *soak, out *bytes.Buffer, want string) {
	t.Helper()
	v := s.run(t.Context())
	if v == nil {
		t.Fatalf("no violation:\n%s", out)
	}
	if !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(v.What, w) }) || !strings.Contains(out.String(), v.What) || !strings.Contains(out.String(), "seed 1") {
		t.Errorf("want a report of %q:\n%s", want, out)
	}
	t.Log(v.What)
}

// TestLeaks lets goroutines, memory and caches leak.
//
// Catches: a check for leaks that sees nothing.
func TestLeaks(t *testing.T) {
	held := make(chan struct{})
	t.Cleanup(func() { close(held) })
	var kept [][]byte
	for name, c := range map[string]struct {
		leak func()
		want string
	}{
		"goroutines": {func() { // more of them than may end meanwhile, of other tests
			for range 100 {
				go func() { <-held }()
			}
		}, "goroutines"},
		"memory": {func() { kept = append(kept, make([]byte, 64<<20)) }, "heap"},
	} {
		t.Run(name, func(t *testing.T) {
			l := leaks{failed: newFailure(100 * time.Millisecond)}
			l.begin()
			l.check(true)
			if v := l.failed.found(); v != nil {
				t.Fatalf("before: %s", v.What)
			}
			c.leak()
			l.check(true)
			if v := l.failed.found(); v == nil || v.Subject != c.want {
				t.Errorf("violation %+v, want one of %s", v, c.want)
			}
		})
	}
	_ = kept
	t.Run("a cache", func(t *testing.T) {
		s := shortLived{failed: newFailure(100 * time.Millisecond)}
		c := cache.Must(cache.Options[int, int]{Name: shortName})
		s.audit()
		if v := s.failed.found(); v == nil {
			t.Error("a cache that is still registered was not seen")
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

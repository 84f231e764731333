package main

import (
	"bytes"
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// rarely says yes to about one call in n.
func rarely(n int) bool { return rand.IntN(n) == 0 }

type (
	options = cache.Options[uint64, uint64]
	caches  = store[uint64, uint64]
	events  = cache.Event[uint64, uint64]
)

// listening returns a function that opens a cache that tells onRemove of its events instead of
// the program, which tell does.
func listening(onRemove func(e events, tell func(events))) func(options) caches {
	return func(o options) caches {
		tell := o.OnRemove
		o.OnRemove = func(e events) { onRemove(e, tell) }
		return openCache(o)
	}
}

type misplaced struct{ caches }

func (s misplaced) Get(key uint64) (uint64, bool) {
	value, ok := s.caches.Get(key)
	if rarely(100) {
		value += 1 << idBits
	}
	return value, ok
}

type oversized struct{ caches }

func (s oversized) Len() int { return s.caches.Len() + 1000 }

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
			for range 2 {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

func with(fault func(caches) caches) func(options) caches {
	return func(o options) caches { return fault(openCache(o)) }
}

// TestBroken gives the checker caches with a fault each.
//
// Catches: a check that sees nothing.
func TestBroken(t *testing.T) {
	for name, fault := range map[string]struct {
		open func(options) caches
		want string // in the report
	}{
		"drops a callback": {listening(func(e events, tell func(events)) {
			if !rarely(20) {
				tell(e)
			}
		}), "OnRemove was called for"},
		"another cause": {listening(func(e events, tell func(events)) {
			e.Cause = cache.Cleared
			tell(e)
		}), "OnRemove was called for"},
		"too many callbacks at once": {func(o options) caches {
			o.Workers = 16
			return openCache(o)
		}, "calls of OnRemove at once"},
		"the value of another key": {with(func(c caches) caches { return misplaced{c} }), "has a value of key"},
		"more than the limit":      {with(func(c caches) caches { return oversized{c} }), "the limit is"},
		"counts wrongly":           {with(func(c caches) caches { return miscounting{c} }), "hits and"},
		"an entry twice":           {with(func(c caches) caches { return twofold{c} }), "seen twice"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := short(&out)
			c.duration, c.patience = time.Minute, 2*time.Second // real time: after it the counters count as wrong
			s := newSoak(c)
			s.phases = slices.DeleteFunc(slices.Clone(s.phases), func(p phase) bool { return p.name != "everything" && p.name != "stampede" })
			broken := newTarget(spec[uint64, uint64]{
				form: numbers(), size: 300, listens: true,
				options:  options{Name: "broken", Limit: 400, Expire: 200 * time.Millisecond, Workers: 2},
				callback: sometimes(200, slow),
			}, fault.open, s.failed)
			s.subjects = []subject{broken}
			defer func() { _ = broken.store.Close(context.Background()) }() // a run that finds something leaves all as it is
			v := s.run(t.Context())
			if v == nil {
				t.Fatalf("no violation:\n%s", &out)
			}
			if !strings.Contains(v.What, fault.want) || !strings.Contains(out.String(), v.What) || !strings.Contains(out.String(), "seed 1") {
				t.Errorf("want a report of %q:\n%s", fault.want, &out)
			}
		})
	}
}

// TestCountersThatFall gives the watcher a cache whose counters fall.
//
// Catches: a check of the answers of stats.Handler that sees nothing.
func TestCountersThatFall(t *testing.T) {
	w := newWatcher(newFailure(time.Minute))
	c := cache.Must(options{Name: "counted"})
	defer func() { _ = c.Close(context.Background()) }()
	w.json()
	if v := w.failed.found(); v != nil {
		t.Fatalf("before: %s", v.What)
	}
	before := w.before["counted"]
	before.Sets++
	w.before["counted"] = before
	w.json()
	if v := w.failed.found(); v == nil || !strings.Contains(v.What, "a counter fell") {
		t.Errorf("violation %+v", v)
	}
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
		"a goroutine": {func() { go func() { <-held }() }, "goroutines"},
		"memory":      {func() { kept = append(kept, make([]byte, 64<<20)) }, "heap"},
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

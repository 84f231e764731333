package cache

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestAmend checks that what the option Amend adds is in Stats and in package stats.
func TestAmend(t *testing.T) {
	c := Must(Options[int, int]{Name: "amended", Amend: func(s *stats.Snapshot) { s.Misses += 10; s.Near.Changes = 3 }})
	defer c.Close(context.Background())
	c.Get(1)
	all := stats.Caches()
	i := slices.IndexFunc(all, func(n stats.Named[stats.Snapshot]) bool { return n.Name == "amended" })
	if i < 0 {
		t.Fatalf("it is not among %v", all)
	}
	for _, s := range []stats.Snapshot{c.Stats(), all[i].Snapshot} {
		if s.Misses != 11 || s.Near.Changes != 3 {
			t.Errorf("%+v", s)
		}
	}
}

// TestNotFoundIsNoFailure checks that the statistics count a load that sets NotFound as
// successful, although its callers get the error; but not one that panics, or sets
// NotFound without an error.
func TestNotFoundIsNoFailure(t *testing.T) {
	none := errors.New("none")
	c := Must(Options[string, int]{})
	take := func(key string, fetch func(l *Load[int]) (int, error)) error {
		defer func() { recover() }()
		_, err := c.TakeWith(context.Background(), key, func(_ context.Context, l *Load[int]) (int, error) { return fetch(l) })
		return err
	}
	if err := take("none", func(l *Load[int]) (int, error) { l.NotFound = true; return 0, none }); err != none {
		t.Errorf("err = %v", err)
	}
	if s := c.Stats().Loads; s.OK.Count() != 1 || s.Failed.Count() != 0 || c.lastFailed.Load() != nil {
		t.Errorf("after NotFound: %d ok, %d failed, last failed %v", s.OK.Count(), s.Failed.Count(), c.lastFailed.Load())
	}
	take("error", func(l *Load[int]) (int, error) { return 0, none })
	take("panic", func(l *Load[int]) (int, error) { l.NotFound = true; panic("panic") })
	take("value", func(l *Load[int]) (int, error) { l.NotFound = true; return 1, nil })
	if s := c.Stats().Loads; s.OK.Count() != 2 || s.Failed.Count() != 2 {
		t.Errorf("%d ok, %d failed; want 2 and 2", s.OK.Count(), s.Failed.Count())
	}
	if _, ok := c.Get("value"); !ok {
		t.Error("a value that came with NotFound is not kept")
	}
}

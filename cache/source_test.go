package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestSource checks what a cache offers to package stats besides its counts.
func TestSource(t *testing.T) {
	c := cache.Must(cache.Options[name, int]{})
	defer c.Close(t.Context())
	source := cache.SourceOf(weak.Make(c))
	if failed, _, _ := source.Failures(); failed != nil {
		t.Errorf("a load failed before there was one: %v", failed.Err)
	}
	before, why := time.Now(), errors.New("no database")
	_, _ = c.Take("a", func() (int, error) { return 0, why })
	if failed, _, _ := source.Failures(); failed.Err != why || failed.Time.Before(before) || failed.Time.After(time.Now()) {
		t.Errorf("the last load failed at %v for %v", failed.Time, failed.Err)
	}
	for _, key := range []name{"7/a", "7/b", "70/a", "8/7/"} {
		c.Set(key, 1)
	}
	if removed := source.PurgePrefix("7/"); removed != 2 || c.Len() != 2 {
		t.Errorf("%d removed, and %d are left; want 2 and 2", removed, c.Len())
	}
	other := cache.Must(cache.Options[int, int]{})
	defer other.Close(t.Context())
	if cache.SourceOf(weak.Make(other)).PurgePrefix != nil {
		t.Error("numbers have prefixes")
	}
}

type (
	// A name is shown by fmt otherwise than it is.
	name string

	// A level is shown by fmt otherwise than it can be read.
	level int
)

func (n name) String() string  { return "the name " + string(n) }
func (l level) String() string { return [...]string{"low", "high"}[l] }

// shownAndPurged checks that each key, as the hot keys show it, is purged by what is shown. Each
// shape of a key is a cache to compile, so the other types have the tests of package keytext.
func shownAndPurged[K comparable](t *testing.T, keys map[K]string) {
	t.Helper()
	for key, want := range keys {
		t.Run(fmt.Sprintf("%T %s", key, want), func(t *testing.T) {
			c := cache.Must(cache.Options[K, int]{HotKeys: 1})
			source := cache.SourceOf(weak.Make(c))
			c.Set(key, 1)
			ask(c, key)
			hot := source.HotKeys()
			if len(hot) != 1 || hot[0].Key != want || hot[0].Share != 1 {
				t.Fatalf("hot keys are %v, want %q", hot, want)
			}
			if n, err := source.Purge(hot[0].Key); n != 1 || err != nil {
				t.Errorf("Purge(%q) = %d, %v", hot[0].Key, n, err)
			}
			if _, ok := c.Peek(key); ok {
				t.Errorf("%v is still there", key)
			}
			if n, err := source.Purge(hot[0].Key); n != 0 || err != nil {
				t.Errorf("Purge(%q) once more = %d, %v", hot[0].Key, n, err)
			}
		})
	}
}

// TestWhatIsShownCanBePurged checks that the text that the page shows of a key purges that
// key.
func TestWhatIsShownCanBePurged(t *testing.T) {
	shownAndPurged(t, map[string]string{"": "", "a": "a", " a b\n": " a b\n", "ключ": "ключ", "\x00": "\x00"})
	shownAndPurged(t, map[name]string{"ann": "ann"})
	shownAndPurged(t, map[int]string{0: "0", math.MinInt: strconv.Itoa(math.MinInt), math.MaxInt: strconv.Itoa(math.MaxInt)})
	shownAndPurged(t, map[level]string{1: "1"}) // not "high", which nothing can read
}

// TestPurgeOfNoKey checks that a text that is no key removes nothing, and that a cache whose keys
// cannot be read offers no purge by key.
func TestPurgeOfNoKey(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{})
	c.Set(0, 1) // which a text that is no key must not remove
	if n, err := cache.SourceOf(weak.Make(c)).Purge("a"); n != 0 || err == nil || c.Len() != 1 {
		t.Errorf("Purge of what is no key = %d, %v; %d entries left", n, err, c.Len())
	}

	all := cache.Must(cache.Options[any, int]{})
	source := cache.SourceOf(weak.Make(all))
	if source.Purge != nil || source.HotKeys != nil {
		t.Error("Purge or HotKeys is offered, but there is none")
	}
	all.Set(1, 1)
	all.Set(2, 1)
	if n := source.PurgeAll(); n != 2 || all.Len() != 0 {
		t.Errorf("PurgeAll removed %d, and left %d", n, all.Len())
	}
}

// TestSourceOfACollectedCache checks that the functions given to package stats do nothing
// after the cache was collected.
func TestSourceOfACollectedCache(t *testing.T) {
	c := cache.Must(cache.WithExtras(cache.Options[int, int]{Limit: 10}))
	w := weak.Make(c)
	source := cache.SourceOf(w)
	c.Set(1, 1)
	cache.MustClose(t, c)
	c = nil
	if !settle.Collected(func() bool { return w.Value() == nil }) {
		t.Fatal("the extras keep the cache")
	}
	if source.HotKeys() != nil || source.PurgeAll() != 0 {
		t.Error("there are hot keys or entries in no cache")
	}
	if n, err := source.Purge("1"); n != 0 || err != nil {
		t.Errorf("Purge = %d, %v", n, err)
	}
	if _, err := source.Purge("x"); err == nil {
		t.Error("Purge of what is no key returns no error")
	}
}

// TestNotFoundIsNoFailure checks that the statistics count a load that sets NotFound as
// successful, although its callers get the error; but not one that panics, or sets
// NotFound without an error.
func TestNotFoundIsNoFailure(t *testing.T) {
	none := errors.New("none")
	c := cache.Must(cache.Options[string, int]{})
	take := func(key string, fetch func(l *cache.Load[int]) (int, error)) error {
		defer func() { recover() }()
		_, err := c.TakeWith(context.Background(), key, func(_ context.Context, l *cache.Load[int]) (int, error) { return fetch(l) })
		return err
	}
	if err := take("none", func(l *cache.Load[int]) (int, error) { l.NotFound = true; return 0, none }); err != none {
		t.Errorf("err = %v", err)
	}
	failed, _, _ := cache.SourceOf(weak.Make(c)).Failures()
	if s := c.Stats().Loads; s.OK.Count() != 1 || s.Failed.Count() != 0 || failed != nil {
		t.Errorf("after NotFound: %d ok, %d failed, last failed %v", s.OK.Count(), s.Failed.Count(), failed)
	}
	take("error", func(l *cache.Load[int]) (int, error) { return 0, none })
	take("panic", func(l *cache.Load[int]) (int, error) { l.NotFound = true; panic("panic") })
	take("value", func(l *cache.Load[int]) (int, error) { l.NotFound = true; return 1, nil })
	if s := c.Stats().Loads; s.OK.Count() != 2 || s.Failed.Count() != 2 {
		t.Errorf("%d ok, %d failed; want 2 and 2", s.OK.Count(), s.Failed.Count())
	}
	if _, ok := c.Get("value"); !ok {
		t.Error("a value that came with NotFound is not kept")
	}
}

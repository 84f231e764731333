package cache

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"
	"weak"
)

type (
	name string

	// A level is shown by fmt otherwise than it can be read.
	level int
)

func (n name) String() string  { return "the name " + string(n) }
func (l level) String() string { return [...]string{"low", "high"}[l] }

// shownAndPurged checks that each key, as the hot keys show it, is purged by what is
// shown. Each shape of a key is a cache to compile, so the other types have writtenAs.
func shownAndPurged[K comparable](t *testing.T, keys map[K]string) {
	t.Helper()
	for key, want := range keys {
		t.Run(fmt.Sprintf("%T %s", key, want), func(t *testing.T) {
			c := Must(Options[K, int]{HotKeys: 1})
			source := sourceOf(weak.Make(c))
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

// TestPurgeOfWhatIsNoKey checks that a text that is no key removes nothing.
func TestPurgeOfWhatIsNoKey(t *testing.T) {
	c := Must(Options[int, int]{})
	c.Set(0, 1) // which a text that is no key must not remove
	if n, err := sourceOf(weak.Make(c)).Purge("a"); n != 0 || err == nil || c.Len() != 1 {
		t.Errorf("Purge of what is no key = %d, %v; %d entries left", n, err, c.Len())
	}
}

// TestKeysThatCannotBePurged checks that a cache whose keys cannot be parsed offers no
// purge by key.
func TestKeysThatCannotBePurged(t *testing.T) {
	c := Must(Options[any, int]{})
	source := sourceOf(weak.Make(c))
	if source.Purge != nil || source.HotKeys != nil {
		t.Error("Purge or HotKeys is offered, but there is none")
	}
	c.Set(1, 1)
	c.Set(2, 1)
	if n := source.PurgeAll(); n != 2 || c.Len() != 0 {
		t.Errorf("PurgeAll removed %d, and left %d", n, c.Len())
	}
}

// TestSourceOfACollectedCache checks that the functions given to package stats do nothing
// after the cache was collected.
func TestSourceOfACollectedCache(t *testing.T) {
	c := Must(withExtras(Options[int, int]{Limit: 10}))
	w := weak.Make(c)
	source := sourceOf(w)
	c.Set(1, 1)
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	c = nil
	if !collectedUntil(func() bool { return w.Value() == nil }) {
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

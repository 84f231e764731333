package cache

import (
	"errors"
	"testing"
	"time"
	"weak"
)

// TestSource checks what a cache offers to package stats besides its counts.
func TestSource(t *testing.T) {
	type name string
	c := Must(Options[name, int]{})
	defer c.Close(t.Context())
	source := sourceOf(weak.Make(c))
	if _, err := source.LastError(); err != nil {
		t.Errorf("a load failed before there was one: %v", err)
	}
	before, why := time.Now(), errors.New("no database")
	_, _ = c.Take("a", func() (int, error) { return 0, why })
	if at, err := source.LastError(); err != why || at.Before(before) || at.After(time.Now()) {
		t.Errorf("the last load failed at %v for %v", at, err)
	}
	for _, key := range []name{"7/a", "7/b", "70/a", "8/7/"} {
		c.Set(key, 1)
	}
	if removed := source.PurgePrefix("7/"); removed != 2 || c.Len() != 2 {
		t.Errorf("%d removed, and %d are left; want 2 and 2", removed, c.Len())
	}
	other := Must(Options[int, int]{})
	defer other.Close(t.Context())
	if sourceOf(weak.Make(other)).PurgePrefix != nil {
		t.Error("numbers have prefixes")
	}
}

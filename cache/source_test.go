package cache

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/stats"
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

// TestSettingsOf checks what a cache tells package stats of its options.
//
// Catches: an option that the page shows as not set, and workers of a cache without OnRemove.
func TestSettingsOf(t *testing.T) {
	full := Options[string, int]{
		Expire: 1, Idle: 2, Jitter: 0.3, Refresh: 0.4, Grace: 5, Patience: 6, Timeout: 7, MaxLoads: 8,
		Negative: func(error) time.Duration { return 0 }, Policy: Adaptive,
		OnRemove: func(Event[string, int]) {}, Workers: 9,
	}
	want := stats.Settings{
		Expire: 1, Idle: 2, Jitter: 0.3, Refresh: 0.4, Grace: 5, Patience: 6, Timeout: 7, MaxLoads: 8,
		Negative: true, Policy: "adaptive", Workers: 9,
	}
	if got := settingsOf(full); got != want {
		t.Errorf("the settings are %+v, want %+v", got, want)
	}
	if got := settingsOf(Options[string, int]{Workers: 9}); got != (stats.Settings{Policy: "lru"}) {
		t.Errorf("the settings of no options are %+v", got)
	}
	if got := settingsOf(Options[string, int]{OnRemove: full.OnRemove}).Workers; got != runtime.GOMAXPROCS(0) {
		t.Errorf("%d workers are shown, want one for each processor", got)
	}
}

package stats_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func TestSettings(t *testing.T) {
	var r stats.Registry
	r.Add(stats.CacheSource{Name: "users", Snapshot: always(stats.Snapshot{}), Settings: stats.Settings{
		Expire: time.Minute, Idle: time.Second, Jitter: 0.25, Refresh: 0.5, RefreshAfter: time.Hour, Grace: time.Hour, Patience: 20 * time.Millisecond,
		Timeout: 1500 * time.Millisecond, MaxLoads: 7, Negative: true, Workers: 3, Policy: "lru",
	}})
	checkFlat(t, readJSON(t, r.Handler()).Caches[0]["settings"], map[string]any{
		"expire_seconds": 60.0, "idle_seconds": 1.0, "jitter": 0.25, "refresh_ratio": 0.5, "refresh_after_seconds": 3600.0, "grace_seconds": 3600.0, "patience_seconds": 0.02,
		"timeout_seconds": 1.5, "max_loads": 7.0, "negative": true, "workers": 3.0, "policy": "lru",
	})
}

// A badError panics in Error.
type badError struct{}

func (*badError) Error() string { panic("oh") }

// TestLastLoadError checks that the type of an error is shown, and its text only on request.
func TestLastLoadError(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		err      error
		shown    bool
		kind     string
		contains string
	}{
		{errors.New("user ann is not there"), false, "*errors.errorString", ""},
		{errors.New("user ann is not there"), true, "*errors.errorString", "user ann is not there"},
		{fmt.Errorf("ann: %w", &fs.PathError{Op: "open", Path: "ann", Err: fs.ErrNotExist}), false, "*errors.errorString", ""},
		{fmt.Errorf("ann: %w", &badError{}), false, "*stats_test.badError", ""},
		{&badError{}, true, "*stats_test.badError", "PANIC"},
		{errors.New(strings.Repeat("x", 1000)), true, "*errors.errorString", "xx…"},
	} {
		var r stats.Registry
		r.Add(stats.CacheSource{Name: "users", Snapshot: always(stats.Snapshot{}), HotKeys: func() []stats.HotKey { return nil },
			LastError: func() (time.Time, error) { return at, test.err }})
		var options []stats.HandlerOption
		if test.shown {
			options = append(options, stats.WithErrors())
		}
		got := readJSON(t, r.Handler(options...)).Caches[0]["last_load_error"].(map[string]any)
		text := got["text"].(string)
		if got["time"] != "2026-01-02T03:04:05Z" || got["type"] != test.kind || !strings.Contains(text, test.contains) || test.contains == "" && text != "" {
			t.Errorf("%q, to be shown: %t, is shown as %v", test.kind, test.shown, got)
		}
	}
}

package stats_test

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

func TestSettings(t *testing.T) {
	var r stats.Registry
	r.Add(stats.CacheSource{Name: "users", Snapshot: always(stats.Snapshot{}), Settings: stats.Settings{
		Expire: time.Minute, Idle: time.Second, Jitter: 0.25, Timeout: 1500 * time.Millisecond, MaxLoads: 7, Policy: "lru",
	}})
	got := readJSON(t, r.Handler()).Caches[0]["settings"]
	want := map[string]any{
		"expire_seconds": 60.0, "idle_seconds": 1.0, "jitter": 0.25, "timeout_seconds": 1.5, "max_loads": 7.0, "policy": "lru",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A badError panics in Error.
type badError struct{}

func (*badError) Error() string { panic("oh") }

// TestLastLoadError checks that the type of an error is shown, and its text only where keys are.
func TestLastLoadError(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		err      error
		hotKeys  func() []stats.HotKey
		kind     string
		contains string
	}{
		{errors.New("user ann is not there"), nil, "*errors.errorString", ""},
		{errors.New("user ann is not there"), func() []stats.HotKey { return nil }, "*errors.errorString", "user ann is not there"},
		{fmt.Errorf("ann: %w", &fs.PathError{Op: "open", Path: "ann", Err: fs.ErrNotExist}), nil, "*errors.errorString", ""},
		{fmt.Errorf("ann: %w", &badError{}), nil, "*stats_test.badError", ""},
		{&badError{}, func() []stats.HotKey { return nil }, "*stats_test.badError", "PANIC"},
		{errors.New(strings.Repeat("x", 1000)), func() []stats.HotKey { return nil }, "*errors.errorString", "xx…"},
	} {
		var r stats.Registry
		r.Add(stats.CacheSource{Name: "users", Snapshot: always(stats.Snapshot{}), HotKeys: test.hotKeys,
			LastError: func() (time.Time, error) { return at, test.err }})
		got := readJSON(t, r.Handler()).Caches[0]["last_load_error"].(map[string]any)
		text := got["text"].(string)
		if got["time"] != "2026-01-02T03:04:05Z" || got["type"] != test.kind || !strings.Contains(text, test.contains) || test.contains == "" && text != "" {
			t.Errorf("%q with keys %t is shown as %v", test.kind, test.hotKeys != nil, got)
		}
	}
}

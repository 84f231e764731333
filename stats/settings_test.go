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

// TestLastLoadError checks that the type of an error is shown, and its text with WithErrors
// only, as it may have keys and passwords in it.
func TestLastLoadError(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		err      error
		kind     string
		contains string
	}{
		{errors.New("user ann is not there"), "*errors.errorString", "user ann is not there"},
		{fmt.Errorf("ann: %w", &fs.PathError{Op: "open", Path: "ann", Err: fs.ErrNotExist}), "*errors.errorString", "ann: open ann"},
		{fmt.Errorf("ann: %w", &badError{}), "*stats_test.badError", "PANIC"},
		{&badError{}, "*stats_test.badError", "PANIC"},
		{errors.New(strings.Repeat("x", 1000)), "*errors.errorString", "xx…"},
	} {
		var r stats.Registry
		r.Add(stats.CacheSource{Name: "users", Snapshot: always(stats.Snapshot{}), HotKeys: func() []stats.HotKey { return nil },
			LastError: func() (time.Time, error) { return at, test.err }})
		for _, shown := range []bool{false, true} {
			h := r.Handler()
			if shown {
				h = r.Handler(stats.WithErrors())
			}
			got := readJSON(t, h).Caches[0]["last_load_error"].(map[string]any)
			text := got["text"].(string)
			if got["time"] != "2026-01-02T03:04:05Z" || got["type"] != test.kind || shown != (text != "") || shown && !strings.Contains(text, test.contains) {
				t.Errorf("%q with WithErrors %t is shown as %v", test.kind, shown, got)
			}
		}
	}
}

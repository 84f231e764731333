// Package stats checks the output of package stats with the parser of the Prometheus project
// and with a validator of JSON Schema.
package stats

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/numbers"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func TestMain(m *testing.M) { redistest.VerifyTestMain(m) }

// register registers a source until the end of the test.
func register(t testing.TB, source sources.Source) (unique string) {
	unique, unregister := sources.Register(source)
	t.Cleanup(unregister)
	return unique
}

func registerCache(t testing.TB, name string, snapshot func() (stats.Snapshot, bool)) (unique string) {
	return register(t, sources.Cache[stats.Snapshot]{Name: name, Snapshot: snapshot})
}

func registerWheel(t testing.TB, name string, snapshot func() (stats.WheelSnapshot, bool)) (unique string) {
	return register(t, sources.Wheel[stats.WheelSnapshot]{Name: name, Snapshot: snapshot})
}

// always returns a source that reports s.
func always[S any](s S) func() (S, bool) {
	return func() (S, bool) { return s, true }
}

// served returns the answer to a GET.
func served(t testing.TB, target string, options ...stats.HandlerOption) string {
	t.Helper()
	w := httptest.NewRecorder()
	stats.Handler(options...).ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: status %d, want 200", target, w.Code)
	}
	return w.Body.String()
}

func metrics(t testing.TB) string {
	t.Helper()
	return served(t, "/metrics?all=1")
}

// distinct and distinctWheel return statistics whose numbers, after n, differ.
func distinct(n uint64) stats.Snapshot           { return numbers.Distinct[stats.Snapshot](n) }
func distinctWheel(n uint64) stats.WheelSnapshot { return numbers.Distinct[stats.WheelSnapshot](n) }

// Package stats checks the output of package stats with the parser of the Prometheus project
// and with a validator of JSON Schema.
package stats

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
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
	return served(t, "/metrics")
}

// observed returns a histogram of durations.
func observed(durations ...time.Duration) stats.Histogram {
	var r histogram.DurationRecorder
	for _, took := range durations {
		r.Observe(took)
	}
	return stats.Histogram(r.Histogram())
}

// distinct returns a Snapshot of different numbers after n, so that a number in the wrong
// place is noticed.
func distinct(n uint64) stats.Snapshot {
	var s stats.Snapshot
	n = number(reflect.ValueOf(&s).Elem(), n)
	s.Misses += 1000 * n // more than the expired ones, as in a real cache
	return s
}

// distinctWheel is distinct for a wheel.
func distinctWheel(n uint64) stats.WheelSnapshot {
	var w stats.WheelSnapshot
	number(reflect.ValueOf(&w).Elem(), n)
	return w
}

// number sets the numbers in v to the values after n and returns the last. The buckets of a
// histogram get smaller numbers, which differ too.
func number(v reflect.Value, n uint64) uint64 {
	n++
	switch field := v.Addr().Interface().(type) {
	case *stats.Histogram:
		*field = observed(steps(n)...)
	default:
		switch {
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				n = number(v.Field(i), n)
			}
		case v.CanUint():
			v.SetUint(n)
		case v.CanFloat():
			v.SetFloat(float64(n))
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		default:
			v.SetInt(int64(n))
		}
	}
	return n
}

// steps returns durations from 10 µs on, and the longer ones more often.
func steps(n uint64) (all []time.Duration) {
	times := int(n % 64)
	for d := 10 * time.Microsecond; d < 100*time.Hour; d *= 2 {
		times++
		all = append(all, slices.Repeat([]time.Duration{d}, times)...)
	}
	return all
}

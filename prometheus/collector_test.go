package prompinwheel_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	prompinwheel "github.com/pinwheel-cache/pinwheel/prometheus"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// fill registers caches and a wheel with a different number in every metric, so that none can
// be taken for another.
func fill(t *testing.T) {
	t.Helper()
	var n numbers
	var full stats.Snapshot
	var wheel stats.WheelSnapshot
	n.fill(reflect.ValueOf(&full).Elem())
	n.fill(reflect.ValueOf(&wheel).Elem())
	full.Misses += 1000 // more than the expired ones, as in a real cache
	for name, s := range map[string]stats.Snapshot{"full": full, `odd "name" \ 1`: {}} {
		_, unregister := stats.Register(stats.CacheSource{Name: name, Snapshot: func() (stats.Snapshot, bool) { return s, true }})
		t.Cleanup(unregister)
	}
	_, unregister := stats.Register(stats.WheelSource{Name: "wheel", Snapshot: func() (stats.WheelSnapshot, bool) { return wheel, true }})
	t.Cleanup(unregister)
}

// numbers are different ones, so that none is taken for another.
type numbers uint64

func (n *numbers) next() uint64 { *n++; return uint64(*n) }

// fill gives each number in v one of its own.
func (n *numbers) fill(v reflect.Value) {
	switch to := v.Addr().Interface().(type) {
	case *stats.Histogram:
		var r stats.DurationRecorder
		n.observe(r.Observe)
		*to = r.Histogram()
	case *uint64:
		*to = n.next()
	case *int:
		*to = int(n.next())
	case *float64:
		*to = float64(n.next())
	case *bool:
		*to = true
	case *time.Duration:
		*to = time.Duration(n.next()) * time.Second
	default:
		for i := range v.NumField() {
			n.fill(v.Field(i))
		}
	}
}

// observe observes another number of durations for each bucket.
func (n *numbers) observe(observe func(time.Duration)) {
	for bound := range (stats.Histogram{}).Buckets() {
		for range n.next() {
			observe(min(bound, time.Minute))
		}
	}
}

// TestCollectorIsTheHandler checks that the collector has what the handler serves, sample for
// sample, and that promlint finds nothing.
func TestCollectorIsTheHandler(t *testing.T) {
	fill(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(prompinwheel.NewCollector())
	served := httptest.NewRecorder()
	stats.Handler().ServeHTTP(served, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if n := strings.Count(served.Body.String(), "# TYPE "); n < 20 {
		t.Errorf("only %d families", n)
	}
	if err := testutil.GatherAndCompare(registry, served.Body); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

package gozero_test

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/pinwheel-cache/pinwheel/gozero"
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
// sample, that promlint finds nothing, and that several calls of MustRegister are as one.
func TestCollectorIsTheHandler(t *testing.T) {
	fill(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(gozero.NewCollector())
	gathered, err := registry.Gather()
	must(t, err)
	problems, err := promlint.NewWithMetricFamilies(gathered).Lint()
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	var text strings.Builder // as Prometheus gets it
	for _, f := range gathered {
		_, err := expfmt.MetricFamilyToText(&text, f)
		must(t, err)
	}
	got, want := parsed(t, text.String()), served(t)
	names := slices.Sorted(maps.Keys(want))
	if got := slices.Sorted(maps.Keys(got)); !slices.Equal(got, names) {
		t.Fatalf("families\n%q\nwant\n%q", got, names)
	}
	if len(names) < 20 {
		t.Errorf("only %q", names)
	}
	for _, name := range names {
		if sorted(got[name]).String() != sorted(want[name]).String() {
			t.Errorf("got\n%v\nwant\n%v", got[name], want[name])
		}
	}
	gozero.MustRegister()
	gozero.MustRegister()
	families, err := prometheus.DefaultGatherer.Gather()
	must(t, err)
	for _, f := range families {
		names = slices.DeleteFunc(names, func(name string) bool { return name == f.GetName() })
	}
	if len(names) > 0 {
		t.Errorf("the default registry lacks %q", names)
	}
}

// served returns what the handler serves.
func served(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	stats.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return parsed(t, w.Body.String())
}

// sorted sorts the samples of a family as a registry does.
func sorted(f *dto.MetricFamily) *dto.MetricFamily {
	slices.SortFunc(f.Metric, func(a, b *dto.Metric) int {
		return slices.CompareFunc(a.Label, b.Label, func(a, b *dto.LabelPair) int {
			return cmp.Compare(a.GetValue(), b.GetValue())
		})
	})
	return f
}

func parsed(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	// This interface of the decoder is in all versions that versions of go-zero require.
	decoder := expfmt.NewDecoder(strings.NewReader(text), expfmt.NewFormat(expfmt.TypeTextPlain))
	families := map[string]*dto.MetricFamily{}
	for {
		family := new(dto.MetricFamily)
		switch err := decoder.Decode(family); {
		case err == io.EOF:
			return families
		case err != nil:
			t.Fatal(err)
		}
		families[family.GetName()] = family
	}
}

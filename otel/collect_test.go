package otelpinwheel_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	otelpinwheel "github.com/pinwheel-cache/pinwheel/otel"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A sample tells a number from all others, in the words of OpenTelemetry or, if le is
// not empty, those of a bucket of Prometheus.
type sample struct{ metric, source, value, le string }

// newReader returns a reader of a provider that all statistics are registered with.
func newReader(t testing.TB) *metric.ManualReader {
	t.Helper()
	reader := metric.NewManualReader(metric.WithProducer(otelpinwheel.NewProducer()))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	_, err := otelpinwheel.Register(provider)
	must(t, err)
	t.Cleanup(func() { must(t, provider.Shutdown(context.Background())) })
	return reader
}

// metrics returns what a reader collects.
func metrics(t testing.TB, reader metric.Reader) (all []metricdata.Metrics) {
	t.Helper()
	var collected metricdata.ResourceMetrics
	must(t, reader.Collect(t.Context(), &collected))
	for _, s := range collected.ScopeMetrics {
		if s.Scope.Name != "github.com/pinwheel-cache/pinwheel/otel" {
			t.Errorf("scope %q", s.Scope.Name)
		}
		all = append(all, s.Metrics...)
	}
	return all
}

// collect returns what a reader collects, number by number.
func collect(t testing.TB, reader metric.Reader) map[sample]float64 {
	t.Helper()
	all := map[sample]float64{}
	for _, m := range metrics(t, reader) {
		add := func(of attribute.Set, suffix, le string, value float64) {
			s := sample{metric: m.Name + suffix, le: le}
			for _, a := range of.ToSlice() {
				if strings.HasSuffix(string(a.Key), ".name") {
					s.source = a.Value.AsString()
				} else {
					s.value = a.Value.AsString()
				}
			}
			if _, twice := all[s]; twice || s.source == "" {
				t.Errorf("%+v: twice, or of nobody", s)
			}
			all[s] = value
		}
		var points []metricdata.DataPoint[float64]
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				add(p.Attributes, "", "", float64(p.Value))
			}
		case metricdata.Sum[float64]:
			points = data.DataPoints
		case metricdata.Gauge[float64]:
			points = data.DataPoints
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				var below uint64
				for i, n := range p.BucketCounts {
					below += n
					le := math.Inf(1)
					if i < len(p.Bounds) {
						le = p.Bounds[i]
					}
					add(p.Attributes, "_bucket", fmt.Sprint(le), float64(below))
				}
				add(p.Attributes, "_count", "", float64(p.Count))
				add(p.Attributes, "_sum", "", p.Sum)
			}
		default:
			t.Errorf("%s is a %T", m.Name, m.Data)
		}
		for _, p := range points {
			add(p.Attributes, "", "", p.Value)
		}
	}
	return all
}

var line = regexp.MustCompile(`(?m)^(\w+)\{(?:cache|wheel)="([^"]*)"(?:,(\w+)="([^"]*)")?(?:,le="([^"]*)")?\} (\S+)$`)

// served returns what the handler serves of caches and wheels, number by number.
func served(t testing.TB) map[sample]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	stats.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics?all=1", nil))
	all := map[sample]float64{}
	samples := 0
	for text := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "pinwheel_process_") { // not of a cache or wheel
			continue
		}
		samples++
		m := line.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			t.Fatalf("not understood: %s", text)
		}
		s := sample{metric: m[1], source: m[2], value: m[4], le: m[5]}
		if m[3] == "le" { // the only label beside the name
			s.value, s.le = "", m[4]
		}
		value, err := strconv.ParseFloat(m[6], 64)
		must(t, err)
		all[s] = value
	}
	if len(all) != samples {
		t.Fatalf("%d numbers of %d samples", len(all), samples)
	}
	return all
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var must = settle.Must // ends a test with an error that it did not expect

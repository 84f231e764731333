package otelpinwheel_test

import (
	"errors"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/numbers"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	otelpinwheel "github.com/pinwheel-cache/pinwheel/otel"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// registerCache registers a cache that reports s until the test ends.
func registerCache(t testing.TB, name string, s *stats.Snapshot) {
	_, unregister := sources.Register(sources.Cache[stats.Snapshot]{Name: name, Snapshot: func() (stats.Snapshot, bool) { return *s, true }})
	t.Cleanup(unregister)
}

// registerWheel registers a timing wheel that reports w until the test ends.
func registerWheel(t testing.TB, name string, w *stats.WheelSnapshot) {
	_, unregister := sources.Register(sources.Wheel[stats.WheelSnapshot]{Name: name, Snapshot: func() (stats.WheelSnapshot, bool) { return *w, true }})
	t.Cleanup(unregister)
}

// A row says what an instrument is.
type row struct{ unit, kind, served string }

// table returns what package stats says of each instrument, by name.
func table() map[string]row {
	rows := map[string]row{}
	addRows(rows, stats.Metrics[stats.Snapshot]())
	addRows(rows, stats.Metrics[stats.WheelSnapshot]())
	return rows
}

func addRows[S any](rows map[string]row, metrics []stats.Metric[S]) {
	for _, m := range metrics {
		switch {
		case m.Path == "":
		case m.Kind == "histogram":
			rows[m.Path] = row{"s", "", m.Name}
			rows[m.Path+".count"] = row{m.Unit, "counter", m.Name + "_count"}
			rows[m.Path+".sum"] = row{"s", "counter", m.Name + "_sum"}
		default:
			rows[m.Path] = row{m.Unit, m.Kind, m.Name}
		}
	}
}

// Whatever /metrics has, OpenTelemetry has too, with the same value, and little more.
//
// Catches: a metric that is served and has no instrument.
func TestAllThatIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, wheel := numbers.Distinct[stats.Snapshot](0), numbers.Distinct[stats.WheelSnapshot](1000)
		registerCache(t, "full", &full)
		registerCache(t, "empty", new(stats.Snapshot))
		registerWheel(t, "wheel", &wheel)
		reader := newReader(t)
		time.Sleep(time.Minute)

		names := map[string]string{} // by those that are served
		for name, r := range table() {
			names[r.served] = name
		}
		collected := collect(t, reader)
		seen := map[sample]bool{}
		for s, value := range served(t) {
			found := false
			same := func(name string, value float64) {
				found = true
				here := sample{name, s.source, s.value, s.le}
				if got, ok := collected[here]; !ok || got != value {
					t.Errorf("%+v is %v, want that of %+v: %v", here, got, s, value)
				}
				seen[here] = true
			}
			if s.metric == "cache_created_timestamp_seconds" { // OpenTelemetry has the uptime instead
				same("pinwheel.cache.uptime", time.Since(time.UnixMilli(int64(1000*value))).Seconds())
			}
			if name, ok := names[s.metric]; ok {
				same(name, value)
			}
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				if name, ok := names[strings.TrimSuffix(s.metric, suffix)]; ok && strings.HasSuffix(s.metric, suffix) {
					same(name+suffix, value)
				}
			}
			if !found {
				t.Errorf("%s has no counterpart", s.metric)
			}
		}
		for s, value := range collected {
			if !seen[s] && value != 0 {
				t.Errorf("%+v is not served", s)
			}
		}
	})
}

// Each number of a Snapshot makes a difference.
//
// Catches: a field that came to package stats, and to nobody's metrics.
func TestAllOfASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := newReader(t)
		s, w := numbers.Distinct[stats.Snapshot](0), numbers.Distinct[stats.WheelSnapshot](0)
		registerCache(t, "cache", &s)
		registerWheel(t, "wheel", &w)
		whole := collect(t, reader)
		check := func(path string, field reflect.Value) {
			was := reflect.ValueOf(field.Interface())
			field.SetZero()
			if maps.Equal(collect(t, reader), whole) {
				t.Errorf("%s is not exported", path)
			}
			field.Set(was)
		}
		fields(reflect.ValueOf(&s).Elem(), "Snapshot", check)
		fields(reflect.ValueOf(&w).Elem(), "WheelSnapshot", check)
	})
}

// fields calls visit for every number and every histogram in a struct.
func fields(v reflect.Value, path string, visit func(path string, field reflect.Value)) {
	for i := range v.NumField() {
		f, path := v.Field(i), path+"."+v.Type().Field(i).Name
		if !f.CanSet() { // for operators only
			f = reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
		}
		if f.Kind() == reflect.Struct && f.Type().Field(0).IsExported() {
			fields(f, path, visit)
		} else {
			visit(path, f)
		}
	}
}

// The table says what each instrument is, and all names are as the conventions want them.
func TestConventions(t *testing.T) {
	full, wheel := numbers.Distinct[stats.Snapshot](0), numbers.Distinct[stats.WheelSnapshot](0)
	registerCache(t, "full", &full)
	registerWheel(t, "wheel", &wheel)
	name := regexp.MustCompile(`^pinwheel(\.[a-z]+(_[a-z]+)*)+$`)
	unit := regexp.MustCompile(`^(1|s|\{(miss|[a-z]*[a-rt-z])\})$`) // the last in the singular
	rows := table()
	for _, m := range metrics(t, newReader(t)) {
		r, ok := rows[m.Name]
		delete(rows, m.Name)
		if !ok || m.Unit != r.unit || kind(m.Data) != r.kind {
			t.Errorf("%s in %s is a %s; want %+v", m.Name, m.Unit, kind(m.Data), r)
		}
		if !name.MatchString(m.Name) || strings.HasSuffix(m.Name, "total") || !unit.MatchString(m.Unit) {
			t.Errorf("%s in %s", m.Name, m.Unit)
		}
		if m.Description == "" || !strings.HasSuffix(m.Description, ".") {
			t.Errorf("%s: %q", m.Name, m.Description)
		}
	}
	for name := range rows {
		t.Errorf("%s is not there", name)
	}
}

// kind returns what doc.go calls a metric with such data.
func kind(data metricdata.Aggregation) string {
	sum := func(monotonic bool) string {
		if monotonic {
			return "counter"
		}
		return "level"
	}
	switch data := data.(type) {
	case metricdata.Sum[int64]:
		return sum(data.IsMonotonic)
	case metricdata.Sum[float64]:
		return sum(data.IsMonotonic)
	case metricdata.Gauge[float64]:
		return "gauge"
	case metricdata.Histogram[float64]:
		return ""
	}
	return "unknown"
}

// What a cache says of itself is what is collected, also of one made later, until it is
// closed, or the registration ends.
func TestCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdk.NewManualReader()
		registration, err := otelpinwheel.Register(sdk.NewMeterProvider(sdk.WithReader(reader)))
		must(t, err)
		nothing := func(when string) {
			t.Helper()
			if got := collect(t, reader); len(got) != 0 {
				t.Errorf("%s there is %v", when, got)
			}
		}
		nothing("without caches")
		for _, registered := range []bool{true, false} {
			c := cache.Must(cache.Options[int, int]{Name: "later", Limit: 10, Expire: time.Minute})
			for key := range 15 {
				c.Set(key, key)
			}
			_, err := c.Take(100, func() (int, error) { time.Sleep(time.Second); return 1, nil })
			must(t, err)
			got := collect(t, reader)
			for want, n := range map[sample]float64{
				{metric: "pinwheel.cache.gets", value: "miss"}:                 1,
				{metric: "pinwheel.cache.puts"}:                                16,
				{metric: "pinwheel.cache.evictions", value: "size"}:            6,
				{metric: "pinwheel.cache.entry.count"}:                         10,
				{metric: "pinwheel.cache.load.duration.sum", value: "success"}: 1,
				{metric: "pinwheel.cache.uptime"}:                              1,
			} {
				want.source = "later"
				if got[want] != n {
					t.Errorf("%+v is %v, want %v", want, got[want], n)
				}
			}
			if registered {
				must(t, c.Close(t.Context()))
				nothing("once it is closed")
				continue
			}
			must(t, registration.Unregister())
			nothing("after Unregister")
			must(t, c.Close(t.Context()))
		}
	})
}

// failing is a provider whose instruments, or callbacks, are errors.
type failing struct {
	noop.MeterProvider
	instrument, callback error
}

type failingMeter struct {
	noop.Meter
	failing
}

func (f failing) Meter(string, ...metric.MeterOption) metric.Meter { return failingMeter{failing: f} }

func (f failingMeter) Int64ObservableUpDownCounter(string, ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return noop.Int64ObservableUpDownCounter{}, f.instrument
}

func (f failingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, f.callback
}

// Bad providers get errors that say what is wrong.
func TestBadProvider(t *testing.T) {
	bad := errors.New("bad day")
	for _, c := range []struct {
		provider metric.MeterProvider
		want     string
	}{
		{nil, "otelpinwheel: Register got a nil MeterProvider: want that of the SDK, or otel.GetMeterProvider()"},
		{failing{instrument: bad}, "otelpinwheel: the instrument pinwheel.cache.entry.count: bad day"},
		{failing{callback: bad}, "otelpinwheel: RegisterCallback: bad day"},
	} {
		registration, err := otelpinwheel.Register(c.provider)
		if registration != nil || err == nil || err.Error() != c.want {
			t.Errorf("%v, %v; want %s", registration, err, c.want)
		}
		if c.provider != nil && !errors.Is(err, bad) {
			t.Errorf("%v does not wrap its cause", err)
		}
	}
}

package gozero_test

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
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
// be taken for another. There are no others, as one of another test could be collected between
// two looks.
func fill(t *testing.T) {
	t.Helper()
	alone(t)
	n := uint64(0)
	next := func() uint64 { n++; return n }
	durations := func() []time.Duration { // a different number in each bucket
		var all []time.Duration
		for bound := range (stats.Histogram{}).Buckets() {
			all = append(all, slices.Repeat([]time.Duration{min(bound, time.Minute)}, int(next()))...)
		}
		return all
	}
	histogram := func() stats.Histogram {
		var r stats.DurationRecorder
		for _, d := range durations() {
			r.Observe(d)
		}
		return r.Histogram()
	}
	var ages stats.AgeRecorder
	for _, d := range durations() {
		ages.Observe(4096 * d)
	}
	full := stats.Snapshot{
		Hits: next(), Misses: next() + 1000, MissesExpired: next(), MissesEvicted: next(), Sets: next(),
		Removals: stats.Removals{Expired: next(), Evicted: next(), Deleted: next(), Replaced: next(), Cleared: next()},
		Loads: stats.Loads{OK: histogram(), Failed: histogram(), Waits: histogram(), Negative: next(), Waiters: next(), Running: int(next()), Oldest: time.Duration(next()) * time.Second, Queued: int(next()), Abandoned: next(),
			Refreshes: stats.Refreshes{OK: next(), Failed: next(), Dropped: next(), Skipped: next()}},
		HitsInGrace: next(), Negatives: int(next()),
		Entries: int(next()), Limit: int(next()), HottestShare: 0.25, Weight: next(), MaxWeight: next(),
		Callbacks:  stats.Callbacks{Queued: int(next()), Running: int(next()), Oldest: time.Duration(next()) * time.Second, Blocked: int(next()), Panics: next()},
		Expiry:     stats.Expiry{Pending: int(next()), Overdue: int(next()), Tombstones: int(next()), Lateness: histogram()},
		EvictedAge: ages.Ages(),
		WhatIf:     stats.WhatIf{Gets: next(), Half: next(), Same: next(), Double: next(), OtherPolicy: next()},
		Near: stats.Near{
			RemoteHits: next(), Fetches: next(), Bypasses: next(), Waits: next(), Overtaken: next(), Unserved: next(), ServedOn: next(), Recent: next(), StoreSpared: next(),
			StoreErrors: next(), Changes: next(), ForgottenAll: next(), Reconnects: next(), Polls: next(), SourceErrors: next(), Backlog: int(next()),
			StoreAway: true, Serving: true, Lag: time.Duration(next()) * time.Second, MaxLag: time.Duration(next()) * time.Second,
		},
	}
	wheel := stats.WheelSnapshot{
		Pending: int(next()), Backlog: int(next()), Running: int(next()), Tombstones: int(next()),
		Started: next(), Removed: next(), Fired: next(), Panics: next(), Lateness: histogram(),
	}
	for name, s := range map[string]stats.Snapshot{"full": full, `odd "name" \ 1`: {}} {
		_, unregister := stats.Register(stats.CacheSource{Name: name, Snapshot: func() (stats.Snapshot, bool) { return s, true }})
		t.Cleanup(unregister)
	}
	_, unregister := stats.Register(stats.WheelSource{Name: "wheel", Snapshot: func() (stats.WheelSnapshot, bool) { return wheel, true }})
	t.Cleanup(unregister)
}

// TestCollectorIsTheHandler checks that the collector has what the handler serves, sample for
// sample.
func TestCollectorIsTheHandler(t *testing.T) {
	fill(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(gozero.NewCollector())
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder // as Prometheus gets it
	for _, f := range gathered {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	got, want := parsed(t, text.String()), served(t)
	names := slices.Sorted(maps.Keys(want))
	if got := slices.Sorted(maps.Keys(got)); !slices.Equal(got, names) {
		t.Fatalf("families\n%q\nwant\n%q", got, names)
	}
	for _, name := range names {
		if sorted(got[name]).String() != sorted(want[name]).String() {
			t.Errorf("got\n%v\nwant\n%v", got[name], want[name])
		}
	}
}

// served returns what the handler serves.
func served(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	stats.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return parsed(t, w.Body.String())
}

// familyNames returns the names of families, in their order.
func familyNames(families []*dto.MetricFamily) (names []string) {
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
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

func TestCollectorIsLinted(t *testing.T) {
	fill(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(gozero.NewCollector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) < 20 {
		t.Errorf("only %q", familyNames(families))
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestCollectorOfNothing checks that without caches there are no metrics, and no error.
func TestCollectorOfNothing(t *testing.T) {
	alone(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(gozero.NewCollector())
	if got, err := registry.Gather(); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", familyNames(got), err)
	}
}

// TestMustRegister checks that the default registry has one collector after several calls.
func TestMustRegister(t *testing.T) {
	fill(t)
	gozero.MustRegister()
	gozero.MustRegister()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := familyNames(families)
	if len(served(t)) < 20 {
		t.Errorf("only %v", served(t))
	}
	for name := range served(t) {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not there", name)
		}
	}
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

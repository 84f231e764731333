package alerts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// file has the alert rules.
const file = "../../docs/alerts.yaml"

// alerts returns the names of the alerts in the file, sorted.
func alerts(t *testing.T) (names []string) {
	t.Helper()
	groups, errs := rulefmt.ParseFile(file, false, model.LegacyValidation)
	settle.Must(t, errors.Join(errs...))
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" {
				names = append(names, rule.Alert)
			}
		}
	}
	slices.Sort(names)
	return names
}

// firings has the alerts that fired, by name.
type firings map[string]*firing

// A firing is when an alert fired first and last, after the first scrape.
type firing struct{ first, last time.Duration }

func (f firings) names() []string { return slices.Sorted(maps.Keys(f)) }

func (f firing) String() string { return fmt.Sprintf("%v to %v", f.first, f.last) }

// A monitor is a Prometheus with the rules of the file, and with the board.
type monitor struct {
	storage *teststorage.TestStorage
	engine  *promql.Engine
	groups  []*rules.Group
	panels  map[string]panel
	last    map[string]labels.Labels // the series of the last scrape
}

func newMonitor(t *testing.T) *monitor {
	t.Helper()
	m := &monitor{
		storage: teststorage.New(t),
		engine:  promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Minute}),
		panels:  panels(t),
	}
	t.Cleanup(func() { _ = m.storage.Close() })
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(m.engine, m.storage),
		Appendable: m.storage,
		Context:    t.Context(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     promslog.NewNopLogger(),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	settle.Must(t, errors.Join(errs...))
	for _, group := range groups {
		m.groups = append(m.groups, group)
	}
	slices.SortFunc(m.groups, func(a, b *rules.Group) int { return strings.Compare(a.Name(), b.Name()) })
	return m
}

// evaluate evaluates the rules after each scrape and returns the alerts that fired.
func (m *monitor) evaluate(t *testing.T, scrapes []scrape) firings {
	t.Helper()
	fired := make(firings)
	for _, s := range scrapes {
		now := instant(s.at)
		m.ingest(t, now, s.families)
		for _, group := range m.groups {
			group.Eval(t.Context(), now)
			for _, rule := range group.AlertingRules() {
				if rule.LastError() != nil {
					t.Fatalf("%s: %v", rule.Name(), rule.LastError())
				}
				if rule.State() != rules.StateFiring {
					continue
				}
				checkAnnotations(t, rule)
				if fired[rule.Name()] == nil {
					fired[rule.Name()] = &firing{first: s.at}
				}
				fired[rule.Name()].last = s.at
			}
		}
	}
	return fired
}

// checkAnnotations finds templates that cannot be filled in. A missing label leaves two
// spaces.
func checkAnnotations(t *testing.T, rule *rules.AlertingRule) {
	t.Helper()
	for _, alert := range rule.ActiveAlerts() {
		alert.Annotations.Range(func(a labels.Label) {
			if strings.Contains(a.Value, "<error") || strings.Contains(a.Value, "  ") {
				t.Errorf("the %s of %s is %q", a.Name, rule.Name(), a.Value)
			}
		})
	}
}

// query returns the value of an expression at a time after the start of the service.
func (m *monitor) query(t *testing.T, expr string, at time.Duration) promql.Vector {
	t.Helper()
	query, err := m.engine.NewInstantQuery(t.Context(), m.storage, nil, expr, instant(at))
	if err != nil {
		t.Fatalf("%v in %s", err, expr)
	}
	defer query.Close()
	v, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%v in %s", err, expr)
	}
	return slices.Clone(v)
}

// instant returns the time by the clock of the service, which begins as that of synctest.
func instant(at time.Duration) time.Time {
	return time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).Add(at)
}

// ingest stores a scrape as Prometheus does: series that are gone end. The name of a cache may end
// with @ and an instance.
func (m *monitor) ingest(t *testing.T, at time.Time, families map[string]*dto.MetricFamily) {
	t.Helper()
	app := m.storage.Appender(t.Context())
	last := m.last
	m.last = make(map[string]labels.Labels)
	add := func(name string, sample *dto.Metric, v float64, more ...string) {
		b := labels.NewBuilder(labels.FromStrings(append([]string{model.MetricNameLabel, name, "job", "service", "instance", "host:1"}, more...)...))
		for _, l := range sample.Label {
			b.Set(l.GetName(), l.GetValue())
			if of, instance, ok := strings.Cut(l.GetValue(), "@"); ok {
				b.Set(l.GetName(), of).Set("instance", instance)
			}
		}
		series := b.Labels()
		_, err := app.Append(0, series, at.UnixMilli(), v)
		settle.Must(t, err)
		m.last[series.String()] = series
		delete(last, series.String())
	}
	for name, f := range families {
		for _, sample := range f.Metric {
			switch h := sample.Histogram; {
			case sample.Counter != nil:
				add(name, sample, sample.Counter.GetValue())
			case sample.Gauge != nil:
				add(name, sample, sample.Gauge.GetValue())
			case h != nil:
				add(name+"_sum", sample, h.GetSampleSum())
				add(name+"_count", sample, float64(h.GetSampleCount()))
				for _, bucket := range h.Bucket {
					add(name+"_bucket", sample, float64(bucket.GetCumulativeCount()), "le", fmt.Sprint(bucket.GetUpperBound()))
				}
			}
		}
	}
	for _, series := range last {
		_, err := app.Append(0, series, at.UnixMilli(), math.Float64frombits(value.StaleNaN))
		settle.Must(t, err)
	}
	settle.Must(t, app.Commit())
}

// TestOtherCachesFireNothing has Prometheus scrape, beside a process with pinwheel, one in which Micrometer
// gives the names here to the caches of another library, with all of their trouble.
func TestOtherCachesFireNothing(t *testing.T) {
	var scrapes []scrape
	hits, misses, entries := 0, 0, 20_000
	for minute := range 12 * 60 {
		if minute < 3*60 {
			hits, misses = hits+6000, misses+600
		} else {
			misses, entries = misses+6600, entries+100
		}
		text := fmt.Sprintf(`# TYPE pinwheel_process_heap_bytes gauge
pinwheel_process_heap_bytes 1
# TYPE cache_gets_total counter
cache_gets_total{cache="users@host:9",cache_manager="",name="users",result="hit"} %d
cache_gets_total{cache="users@host:9",cache_manager="",name="users",result="miss"} %[2]d
# TYPE cache_puts_total counter
cache_puts_total{cache="users@host:9",cache_manager="",name="users"} %[2]d
# TYPE cache_evictions_total counter
cache_evictions_total{cache="users@host:9",cache_manager="",name="users"} %[2]d
# TYPE cache_size gauge
cache_size{cache="users@host:9",cache_manager="",name="users"} %[3]d
# TYPE cache_load_total counter
cache_load_total{cache="users@host:9",cache_manager="",name="users",result="failure"} %[2]d
# TYPE cache_load_duration_seconds_total counter
cache_load_duration_seconds_total{cache="users@host:9",cache_manager="",name="users"} %[2]d
`, hits, misses, entries)
		scrapes = append(scrapes, scrape{time.Duration(minute+1) * time.Minute, parsed(t, text)})
	}
	if fired := newMonitor(t).evaluate(t, scrapes); len(fired) > 0 {
		t.Errorf("%v fired", fired)
	}
}

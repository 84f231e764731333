package alerts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
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
		ingest(t, m.storage, now, s.families)
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

// ingest stores a scrape as Prometheus does.
func ingest(t *testing.T, to storage.Appendable, at time.Time, families map[string]*dto.MetricFamily) {
	t.Helper()
	app := to.Appender(t.Context())
	b := labels.NewBuilder(labels.EmptyLabels())
	add := func(name string, m *dto.Metric, value float64, more ...string) {
		b.Reset(labels.FromStrings(append([]string{model.MetricNameLabel, name, "job", "service", "instance", "host:1"}, more...)...))
		for _, l := range m.Label {
			b.Set(l.GetName(), l.GetValue())
		}
		_, err := app.Append(0, b.Labels(), at.UnixMilli(), value)
		settle.Must(t, err)
	}
	for name, f := range families {
		for _, m := range f.Metric {
			switch h := m.Histogram; {
			case m.Counter != nil:
				add(name, m, m.Counter.GetValue())
			case m.Gauge != nil:
				add(name, m, m.Gauge.GetValue())
			case h != nil:
				add(name+"_sum", m, h.GetSampleSum())
				add(name+"_count", m, float64(h.GetSampleCount()))
				for _, bucket := range h.Bucket {
					add(name+"_bucket", m, float64(bucket.GetCumulativeCount()), "le", fmt.Sprint(bucket.GetUpperBound()))
				}
			}
		}
	}
	settle.Must(t, app.Commit())
}

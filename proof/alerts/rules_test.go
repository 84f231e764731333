package alerts

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
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
)

// file has the alert rules.
const file = "../../docs/alerts.yaml"

// alerts returns the names of the alerts in the file, sorted.
func alerts(t *testing.T) (names []string) {
	t.Helper()
	groups, errs := rulefmt.ParseFile(file, false, model.LegacyValidation)
	for _, err := range errs {
		t.Fatal(err)
	}
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

// firings are the alerts that fired, by name.
type firings map[string]*firing

// A firing is when an alert fired first and last, after the first scrape.
type firing struct{ first, last time.Duration }

func (f firings) names() iter.Seq[string] { return maps.Keys(f) }

func (f firing) String() string { return fmt.Sprintf("%v to %v", f.first, f.last) }

// evaluate has Prometheus' own engine evaluate the alert rules after each scrape, and
// returns what fired.
func evaluate(t *testing.T, scrapes []scrape) firings {
	t.Helper()
	prometheus := teststorage.New(t)
	t.Cleanup(func() { _ = prometheus.Close() })
	engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Minute})
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(engine, prometheus),
		Appendable: prometheus,
		Context:    t.Context(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     promslog.NewNopLogger(),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	for _, err := range errs {
		t.Fatal(err)
	}
	fired := make(firings)
	for _, s := range scrapes {
		now := time.Unix(0, 0).Add(s.at)
		ingest(t, prometheus, now, s.families)
		for _, group := range groups {
			group.Eval(t.Context(), now)
			for _, rule := range group.AlertingRules() {
				if rule.LastError() != nil {
					t.Fatalf("%s: %v", rule.Name(), rule.LastError())
				}
				if rule.State() != rules.StateFiring {
					continue
				}
				if fired[rule.Name()] == nil {
					fired[rule.Name()] = &firing{first: s.at}
				}
				fired[rule.Name()].last = s.at
			}
		}
	}
	return fired
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
		if _, err := app.Append(0, b.Labels(), at.UnixMilli(), value); err != nil {
			t.Fatal(err)
		}
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
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

// Package monitoring checks the Grafana board, the alert rules and the queries of docs/ with
// Prometheus' own parsers, which are too many dependencies for the main module.
//
// The go command does not notice when a file of another module changes: after a
// change in docs/, run it with -count=1.
package monitoring

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

const docs = "../../../docs/"

// runbook is the page that alerts link to.
const runbook = "https://github.com/pinwheel-cache/pinwheel/blob/main/docs/monitoring.md#causes"

// TestBoard checks that Grafana can import the board, and that Prometheus has the series of
// its queries.
func TestBoard(t *testing.T) {
	var board struct {
		UID, Title    string
		SchemaVersion int
		Templating    struct {
			List []struct{ Name, Type, Definition string }
		}
		Panels []panel
	}
	decode(t, docs+"grafana.json", &board)
	if board.UID == "" || board.Title == "" || board.SchemaVersion < 39 { // that of Grafana 11
		t.Errorf("uid %q, title %q, schema %d", board.UID, board.Title, board.SchemaVersion)
	}
	known, all, small := series(t, "?all=1"), metrics(t, "?all=1"), metrics(t, "")
	variables := map[string]bool{"__rate_interval": true}
	for _, v := range board.Templating.List {
		variables[v.Name] = true
		if v.Type == "query" {
			selector, label, found := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v.Definition, "label_values("), ")"), ", ")
			if !found {
				t.Fatalf("variable %s is %s", v.Name, v.Definition)
			}
			check(t, known, "variable "+v.Name, "count by ("+label+") ("+selector+")")
			checkVariables(t, variables, "variable "+v.Name, v.Definition)
		}
	}
	for _, name := range []string{"datasource", "job", "instance", "cache"} {
		if !variables[name] {
			t.Errorf("there is no variable %s", name)
		}
	}
	ids := make(map[int]bool)
	used := make(map[string]bool)
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d, %q: another one has its id, or it has no title", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		p.checkPlace(t)
		if p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("panel %q has no description, or shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" {
				t.Errorf("panel %q asks %q", p.Title, target.Datasource.UID)
			}
			checkVariables(t, variables, "panel "+p.Title, target.Expr)
			for _, metric := range check(t, known, "panel "+p.Title, target.Expr) {
				used[metric] = true
				if all[metric] != nil && small[metric] == nil && !strings.Contains(p.Description, "?all=1") {
					t.Errorf("panel %q does not say that %s needs ?all=1", p.Title, metric)
				}
			}
		}
	}
	for metric := range all {
		if !used[metric] {
			t.Errorf("no panel shows %s", metric)
		}
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct {
		Expr       string
		Datasource struct{ UID string }
	}
}

// checkVariables finds variables that the board does not define, or only later.
func checkVariables(t *testing.T, known map[string]bool, where, query string) {
	t.Helper()
	for _, v := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(query, -1) {
		if !known[v[1]] {
			t.Errorf("%s: there is no variable %s", where, v[1])
		}
	}
}

func (p panel) checkPlace(t *testing.T) {
	t.Helper()
	if g := p.GridPos; g.W <= 0 || g.H <= 0 || g.X < 0 || g.X+g.W > 24 {
		t.Errorf("panel %q is at %+v of a grid 24 wide", p.Title, g)
	}
}

// TestAlerts checks the rules as promtool does, that Prometheus has their series, that /metrics has them
// without ?all=1 but for one group, and that each rule has annotations.
func TestAlerts(t *testing.T) {
	file, errs := rulefmt.ParseFile(docs+"alerts.yaml", false, model.LegacyValidation)
	settle.Must(t, errors.Join(errs...))
	var recorded []labels.Labels
	for _, group := range file.Groups {
		query := ""
		if group.Name == "pinwheel-details" {
			query = "?all=1"
		}
		known := append(series(t, query), recorded...)
		for _, rule := range group.Rules {
			if rule.Record != "" {
				check(t, known, rule.Record, rule.Expr)
				for _, result := range []string{"hit", "miss"} {
					series := labels.FromStrings(model.MetricNameLabel, rule.Record, "job", "service", "instance", "host:1", "cache", "users", "result", result)
					known, recorded = append(known, series), append(recorded, series)
				}
				continue
			}
			check(t, known, rule.Alert, rule.Expr)
			for _, want := range []string{"summary", "description"} {
				if rule.Annotations[want] == "" {
					t.Errorf("%s has no %s", rule.Alert, want)
				}
			}
			if rule.Labels["severity"] == "" {
				t.Errorf("%s has no severity", rule.Alert)
			}
			if got := rule.Annotations["runbook_url"]; got != runbook {
				t.Errorf("the runbook of %s is %q, want %q", rule.Alert, got, runbook)
			}
		}
	}
}

// TestGuide checks the queries in monitoring.md, and the names of metrics and, between
// quotes, those of panels.
func TestGuide(t *testing.T) {
	guide := read(t, docs+"monitoring.md")
	var board struct{ Panels []panel }
	decode(t, docs+"grafana.json", &board)
	_, alerts, _ := strings.Cut(guide, "\n## Alerts\n")
	for _, name := range regexp.MustCompile(`"(\w[^"\n]+)"`).FindAllStringSubmatch(alerts, -1) {
		if !slices.ContainsFunc(board.Panels, func(p panel) bool { return p.Title == name[1] }) {
			t.Errorf("it has %q, which is no panel of the board", name[1])
		}
	}
	known := series(t, "?all=1")
	blocks := regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(guide, -1)
	if len(blocks) == 0 {
		t.Error("it has no query")
	}
	for _, block := range blocks {
		check(t, known, "monitoring.md", block[1])
	}
	for _, name := range regexp.MustCompile("`((?:cache|timingwheel)_[a-z_]+)`").FindAllStringSubmatch(guide, -1) {
		if !slices.ContainsFunc(known, func(s labels.Labels) bool { return s.Get(model.MetricNameLabel) == name[1] }) && metrics(t, "?all=1")[name[1]] == nil {
			t.Errorf("it has %s, which is no metric", name[1])
		}
	}
}

// check parses a query and checks that Prometheus has a series for each of its selectors. It
// returns the names of the metrics.
func check(t *testing.T, known []labels.Labels, where, query string) (names []string) {
	t.Helper()
	expr, err := parser.ParseExpr(strings.ReplaceAll(query, "$__rate_interval", "5m"))
	if err != nil {
		t.Errorf("%s: %v in\n%s", where, err, query)
		return nil
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			if !slices.ContainsFunc(known, func(s labels.Labels) bool { return matches(s, node.LabelMatchers) }) {
				t.Errorf("%s: there is no %s", where, node)
			}
			for _, m := range node.LabelMatchers {
				if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
					names = append(names, family(m.Value))
				}
			}
		case *parser.AggregateExpr:
			for _, label := range node.Grouping {
				if !slices.ContainsFunc(known, func(s labels.Labels) bool { return s.Has(label) }) {
					t.Errorf("%s: there is no label %s", where, label)
				}
			}
		}
		return nil
	})
	return names
}

// matches reports whether a series fits a selector. A variable of the board fits anything.
func matches(s labels.Labels, selector []*labels.Matcher) bool {
	return !slices.ContainsFunc(selector, func(m *labels.Matcher) bool {
		return !s.Has(m.Name) || !strings.HasPrefix(m.Value, "$") && !m.Matches(s.Get(m.Name))
	})
}

// family returns the name of a metric without what a histogram adds.
func family(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// series returns the series of a scrape of a service that has a value in every metric, and of its
// process.
func series(t *testing.T, query string) (all []labels.Labels) {
	t.Helper()
	for _, name := range []string{"up", "pinwheel_process_heap_bytes", "pinwheel_process_memory_limit_bytes", "pinwheel_process_collector_seconds_total",
		"pinwheel_process_cpu_available_seconds_total", "pinwheel_process_stops_total"} {
		all = append(all, labels.FromStrings(model.MetricNameLabel, name, "job", "service", "instance", "host:1"))
	}
	for name, f := range metrics(t, query) {
		for _, m := range f.Metric {
			b := labels.NewBuilder(labels.FromStrings("job", "service", "instance", "host:1"))
			for _, l := range m.Label {
				b.Set(l.GetName(), l.GetValue())
			}
			names := []string{name}
			if m.Histogram != nil {
				names = []string{name + "_sum", name + "_count"}
				all = append(all, b.Set(model.MetricNameLabel, name+"_bucket").Set("le", "1").Labels())
				b.Del("le")
			}
			for _, name := range names {
				all = append(all, b.Set(model.MetricNameLabel, name).Labels())
			}
		}
	}
	return all
}

// metrics returns the metrics of a service that has a value in each.
func metrics(t *testing.T, query string) map[string]*dto.MetricFamily {
	t.Helper()
	full := stats.Snapshot{Limit: 1, MaxWeight: 1, HottestShare: 0.5, WhatIf: stats.WhatIf{Gets: 1}, Near: stats.Near{MaxLag: time.Second, Audits: stats.Audits{OneIn: 1}}}
	var ages histogram.AgeRecorder
	ages.Observe(time.Second)
	full.EvictedAge = stats.Histogram(ages.Histogram())
	var used histogram.DurationRecorder // one that is not is not written
	used.Observe(time.Second)
	durations := stats.Histogram(used.Histogram())
	full.Loads.OK, full.Loads.Failed, full.Loads.TimedOut, full.Expiry.Lateness = durations, durations, durations, durations
	_, unregister := sources.Register(sources.Cache[stats.Snapshot]{
		Name:     "users",
		Snapshot: func() (stats.Snapshot, bool) { return full, true },
		Operation: func() sources.Operation {
			return sources.Operation{Permits: used.Histogram(), Waits: used.Histogram(), StoreReads: used.Histogram(), AuditedAge: used.Histogram()}
		},
	})
	defer unregister()
	_, unregisterWheel := sources.Register(sources.Wheel[stats.WheelSnapshot]{Name: "sessions", Snapshot: func() (stats.WheelSnapshot, bool) {
		return stats.WheelSnapshot{Expiry: stats.Expiry{Lateness: durations}}, true
	}})
	defer unregisterWheel()

	w := httptest.NewRecorder()
	stats.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics"+query, nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	settle.Must(t, err)
	if len(families) < 20 {
		t.Fatalf("only %d metrics", len(families))
	}
	return families
}

func decode(t *testing.T, file string, into any) {
	t.Helper()
	settle.Must(t, json.Unmarshal([]byte(read(t, file)), into))
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	settle.Must(t, err)
	return string(content)
}

package alerts

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// board is the Grafana board.
const board = "../../docs/grafana.json"

// A panel of the board.
type panel struct {
	Title   string
	Targets []struct{ Expr, LegendFormat string }
}

// panels returns the panels of the board by title.
func panels(t *testing.T) map[string]panel {
	t.Helper()
	content, err := os.ReadFile(board)
	settle.Must(t, err)
	var file struct{ Panels []panel }
	settle.Must(t, json.Unmarshal(content, &file))
	all := make(map[string]panel)
	for _, p := range file.Panels {
		all[p.Title] = p
	}
	return all
}

// A reading is the expected range of a curve of a panel.
type reading struct {
	panel, curve string
	from, to     float64
	ago          time.Duration // how long before the end
}

// shows reports whether a panel of the board has a curve, by its legend, within a reading.
func (m *monitor) shows(t *testing.T, r reading, end time.Duration) bool {
	t.Helper()
	p, ok := m.panels[r.panel]
	if !ok {
		t.Fatalf("there is no panel %q", r.panel)
	}
	for _, target := range p.Targets {
		for _, s := range m.query(t, filled(target.Expr), end-r.ago) {
			if legend(target.LegendFormat, s) == r.curve {
				return r.from <= s.F && s.F <= r.to
			}
		}
	}
	return false
}

// showsAll reports whether the board shows all readings.
func (m *monitor) showsAll(t *testing.T, readings []reading, end time.Duration) bool {
	t.Helper()
	return !slices.ContainsFunc(readings, func(r reading) bool { return !m.shows(t, r, end) })
}

// filled returns an expression with the variables of the board as Grafana fills them:
// all of everything, and an interval of four scrapes.
func filled(expr string) string {
	expr = strings.ReplaceAll(expr, "$__rate_interval", "4m")
	return regexp.MustCompile(`"\$\w+"`).ReplaceAllString(expr, `".*"`)
}

// legend returns the name of a curve.
func legend(format string, s promql.Sample) string {
	return regexp.MustCompile(`{{(\w+)}}`).ReplaceAllStringFunc(format, func(label string) string {
		return s.Metric.Get(strings.Trim(label, "{}"))
	})
}

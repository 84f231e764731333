package stats_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestNearFindings checks that the findings have the trouble of a near cache, and not the misses
// that follow from it.
func TestNearFindings(t *testing.T) {
	healthy := stats.Near{MaxLag: time.Second, Lag: 300 * time.Millisecond, Serving: true}
	for _, c := range []struct {
		name  string
		after func(n *stats.Near)
		want  string
	}{
		{"healthy", func(*stats.Near) {}, "more keys"},
		{"reconnecting", func(n *stats.Near) { n.Serving = false }, "more keys"},
		{"silent", func(n *stats.Near) { n.Serving, n.Lag = false, time.Minute }, "source silent"},
		{"partial", func(n *stats.Near) { n.Partial = true }, "more keys, source partial"},
		{"slow", func(n *stats.Near) { n.Behind = 850 * time.Millisecond }, "source slow"},
		{"store away", func(n *stats.Near) { n.StoreErrors, n.Bypasses = 5, 4 }, "store fails"},
		{"two versions", func(n *stats.Near) { n.Undecodable = 5 }, "values undecodable"},
		{"audited", func(n *stats.Near) { n.Audits = stats.Audits{Same: 9, Changed: 9, Unknown: 9} }, "more keys"},
		{"a violation", func(n *stats.Near) { n.Audits.Violations = 1 }, "serves what was replaced, more keys"},
		{"some errors", func(n *stats.Near) { n.StoreErrors = 4 }, "more keys"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var r stats.Registry
			s := stats.Snapshot{Near: healthy}
			r.Register("users", of(&s))
			h := r.Handler()
			for range 60 {
				sleep(5 * time.Second)
				s.Hits += 1000
			}
			s.Misses += 1000
			c.after(&s.Near)
			var causes []string
			for _, f := range readJSON(t, h).Caches[0]["findings"].([]any) {
				causes = append(causes, f.(map[string]any)["cause"].(string))
			}
			if got := strings.Join(causes, ", "); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		})
	}
}

// TestWheelFindings checks that the endpoint has the settings of a wheel, and says that its workers are busy
// once they have been for some samples; not of a pool of the program's.
func TestWheelFindings(t *testing.T) {
	for _, c := range []struct {
		workers, backlog, running int
		busy                      bool
	}{{2, 5, 2, true}, {2, 5, 1, false}, {2, 0, 2, false}, {0, 5, 2, false}} {
		synctest.Test(t, func(t *testing.T) {
			var r stats.Registry
			s := stats.WheelSnapshot{}
			r.Add(sources.Wheel[stats.WheelSnapshot]{Settings: sources.WheelSettings{Interval: time.Second / 2, Slots: 512, Workers: c.workers, Limit: 7}, Snapshot: of(&s)})
			h := r.Handler()
			for i := range 6 {
				wheel := readJSON(t, h).Wheels[0]
				if got, want := wheel["settings"], fmt.Sprintf("map[interval_seconds:0.5 limit:7 slots:512 workers:%d]", c.workers); fmt.Sprint(got) != want {
					t.Fatalf("the settings are %v, want %s", got, want)
				}
				if got := fmt.Sprint(wheel["findings"]); strings.Contains(got, "workers busy") != (c.busy && i > 2) {
					t.Errorf("%+v, sample %d: %s", c, i, got)
				}
				s.Overdue, s.Running = c.backlog, c.running
				sleep(5 * time.Second)
			}
		})
	}
}

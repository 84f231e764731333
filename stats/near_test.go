package stats_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		{"partial", func(n *stats.Near) { n.Partial = true }, "source partial, more keys"},
		{"slow", func(n *stats.Near) { n.Behind = 850 * time.Millisecond }, "source slow"},
		{"store away", func(n *stats.Near) { n.StoreErrors, n.Bypasses = 5, 4 }, "store fails"},
		{"two versions", func(n *stats.Near) { n.Undecodable = 5 }, "values undecodable"},
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

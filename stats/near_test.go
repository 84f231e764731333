package stats_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestNearMetrics checks that a near cache has all metrics of near caches, and others none.
func TestNearMetrics(t *testing.T) {
	var r stats.Registry
	r.Register("plain", always(stats.Snapshot{Hits: 1}))
	if text := r.Metrics(); strings.Contains(text, "cache_near") {
		t.Errorf("a plain cache has\n%s", text)
	}
	r.Register("near", always(stats.Snapshot{Near: stats.Near{
		RemoteHits: 1, Fetches: 2, Bypasses: 3, Waits: 4, Overtaken: 5, Unserved: 6, ServedOn: 7,
		StoreErrors: 8, Changes: 9, ForgottenAll: 10, Reconnects: 11, Serving: true, Lag: 1500 * time.Millisecond, MaxLag: 2 * time.Second,
	}}))
	r.Register("silent", always(stats.Snapshot{Near: stats.Near{MaxLag: time.Second}}))
	text := r.Metrics()
	for _, want := range []string{
		`remote_hits_total{cache="near"} 1`, `fetches_total{cache="near"} 2`, `bypasses_total{cache="near"} 3`,
		`waits_total{cache="near"} 4`, `overtaken_total{cache="near"} 5`, `unserved_total{cache="near"} 6`,
		`served_on_total{cache="near"} 7`, `store_errors_total{cache="near"} 8`, `changes_total{cache="near"} 9`,
		`forgotten_all_total{cache="near"} 10`, `reconnects_total{cache="near"} 11`,
		`serving{cache="near"} 1`, `serving{cache="silent"} 0`, `lag_seconds{cache="near"} 1.5`, `max_lag_seconds{cache="near"} 2`,
	} {
		if !strings.Contains(text, "\ncache_near_"+want+"\n") {
			t.Errorf("there is no cache_near_%s in\n%s", want, text)
		}
	}
}

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
		{"store away", func(n *stats.Near) { n.StoreErrors, n.Bypasses = 5, 4 }, "store fails"},
		{"some errors", func(n *stats.Near) { n.StoreErrors = 4 }, "more keys"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r stats.Registry
				var users varying
				users.change(func(s *stats.Snapshot) { s.Near = healthy })
				r.Register("users", users.snapshot)
				h := r.Handler()
				for range 60 {
					sleep(5 * time.Second)
					users.change(func(s *stats.Snapshot) { s.Hits += 1000 })
				}
				users.change(func(s *stats.Snapshot) {
					s.Misses += 1000
					c.after(&s.Near)
				})
				var causes []string
				for _, f := range readJSON(t, h).Caches[0]["findings"].([]any) {
					causes = append(causes, f.(map[string]any)["cause"].(string))
				}
				if got := strings.Join(causes, ", "); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		})
	}
}

package stats_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// addNear adds what the JSON of a cache or a point has of a Near.
func addNear(fields map[string]any, n stats.Near) {
	if n == (stats.Near{}) {
		fields["near"] = nil
		return
	}
	for name, counter := range map[string]uint64{
		"remote_hits":   n.RemoteHits,
		"fetches":       n.Fetches,
		"bypasses":      n.Bypasses,
		"waits":         n.Waits,
		"overtaken":     n.Overtaken,
		"unserved":      n.Unserved,
		"served_on":     n.ServedOn,
		"recent":        n.Recent,
		"store_spared":  n.StoreSpared,
		"store_errors":  n.StoreErrors,
		"changes":       n.Changes,
		"forgotten_all": n.ForgottenAll,
		"reconnects":    n.Reconnects,
		"polls":         n.Polls,
		"source_errors": n.SourceErrors,
		"backlog":       uint64(n.Backlog),
		"restored":      n.Restored,
	} {
		fields["near."+name] = float64(counter)
	}
	fields["near.store_away"] = n.StoreAway
	fields["near.serving"] = n.Serving
	fields["near.notified"] = n.Notified
	fields["near.round_trip_seconds"] = n.RoundTrip.Seconds()
	fields["near.lag_seconds"] = n.Lag.Seconds()
	fields["near.max_lag_seconds"] = n.MaxLag.Seconds()
}

// TestNearMetrics checks that a near cache has all metrics of near caches, and others none.
func TestNearMetrics(t *testing.T) {
	var r stats.Registry
	r.Register("plain", always(stats.Snapshot{Hits: 1}))
	if text := r.Metrics(); strings.Contains(text, "cache_near") {
		t.Errorf("a plain cache has\n%s", text)
	}
	r.Register("near", always(stats.Snapshot{Near: stats.Near{
		RemoteHits: 1, Fetches: 2, Bypasses: 3, Waits: 4, Overtaken: 5, Unserved: 6, ServedOn: 7, Recent: 12, StoreSpared: 13, StoreAway: true,
		StoreErrors: 8, Changes: 9, ForgottenAll: 10, Reconnects: 11, Polls: 14, SourceErrors: 15, Backlog: 16, Restored: 17, RoundTrip: 250 * time.Millisecond, Notified: true, Serving: true, Lag: 1500 * time.Millisecond, MaxLag: 2 * time.Second,
	}}))
	r.Register("silent", always(stats.Snapshot{Near: stats.Near{MaxLag: time.Second}}))
	text := r.Metrics()
	for _, want := range []string{
		`remote_hits_total{cache="near"} 1`, `fetches_total{cache="near"} 2`, `bypasses_total{cache="near"} 3`,
		`waits_total{cache="near"} 4`, `overtaken_total{cache="near"} 5`, `unserved_total{cache="near"} 6`,
		`served_on_total{cache="near"} 7`, `store_errors_total{cache="near"} 8`, `changes_total{cache="near"} 9`,
		`forgotten_all_total{cache="near"} 10`, `reconnects_total{cache="near"} 11`, `polls_total{cache="near"} 14`, `source_errors_total{cache="near"} 15`, `backlog{cache="near"} 16`,
		`restored_total{cache="near"} 17`, `notified{cache="near"} 1`, `notified{cache="silent"} 0`, `round_trip_seconds{cache="near"} 0.25`,
		`recent_total{cache="near"} 12`, `store_spared_total{cache="near"} 13`, `store_away{cache="near"} 1`, `store_away{cache="silent"} 0`,
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
		{"open transaction", func(n *stats.Near) { n.Backlog = 100_000 }, "open transaction, more keys"},
		{"far away", func(n *stats.Near) { n.RoundTrip = 501 * time.Millisecond }, "MaxLag too short, more keys"},
		{"near enough", func(n *stats.Near) { n.RoundTrip = 500 * time.Millisecond }, "more keys"},
		{"by notifications", func(n *stats.Near) { n.Notified = true }, "no tracking, more keys"},
		{"back from a snapshot", func(n *stats.Near) { n.Restored = 1 }, "store restored, more keys"},
		{"store away", func(n *stats.Near) { n.StoreErrors, n.Bypasses = 5, 4 }, "store fails"},
		{"some errors", func(n *stats.Near) { n.StoreErrors = 4 }, "more keys"},
		{"some changes", func(n *stats.Near) { n.Changes = 300 }, "more keys"},
		{"the store evicts", func(n *stats.Near) { n.Changes = 900 }, "changed at the source"},
		{"after an outage", func(n *stats.Near) { n.ForgottenAll = 1 }, "changed at the source"},
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

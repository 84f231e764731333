package main

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/postgres"
	"github.com/pinwheel-cache/pinwheel/near/relay"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// handler answers /ready and /metrics.
func handler(r *relay.Relay, changes *postgres.Changes, maxLag time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := unready(r.Status(), time.Now(), maxLag); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var source stats.Near
		changes.Report(&source)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		writeMetrics(w, r.Status(), source, time.Now())
	})
	return mux
}

// patience is for how long a relay that waits for another is not ready after an error.
const patience = 5 * time.Second

// unready returns why a relay is not ready, or nil. One that waits for another is.
func unready(s relay.Status, now time.Time, maxLag time.Duration) error {
	switch {
	case s.Leads && s.LastBeat.IsZero():
		return fmt.Errorf("it has begun to relay, and written no beat yet; the last error: %v", s.LastError)
	case s.Leads && now.Sub(s.LastBeat) > maxLag:
		return fmt.Errorf("no beat for %v; the last error: %v", now.Sub(s.LastBeat).Round(time.Millisecond), s.LastError)
	case !s.Leads && s.LastError != nil && now.Sub(s.FailedAt) < patience:
		return fmt.Errorf("it cannot relay: %w", s.LastError)
	}
	return nil
}

// writeMetrics writes in the text format of Prometheus.
func writeMetrics(w io.Writer, s relay.Status, source stats.Near, now time.Time) {
	metric := func(kind, name, help string, value float64) {
		fmt.Fprintf(w, "# HELP pinwheel_relay_%s %s\n# TYPE pinwheel_relay_%[1]s %[3]s\npinwheel_relay_%[1]s %[4]v\n", name, help, kind, value)
	}
	leads, age := 0.0, 0.0
	if s.Leads {
		leads = 1
	}
	if !s.LastBeat.IsZero() {
		age = now.Sub(s.LastBeat).Seconds()
	}
	metric("gauge", "leads", "1 if this process relays, 0 if it waits for another.", leads)
	metric("gauge", "last_beat_age_seconds", "Time since the last beat of this process; 0 if there is none.", age)
	metric("counter", "beats_total", "Beats written.", float64(s.Beats))
	metric("counter", "removed_keys_total", "Keys of changed rows, removed from Redis.", float64(s.Removed))
	metric("counter", "removed_all_total", "How many times all keys were removed.", float64(s.RemovedAll))
	metric("counter", "takeovers_total", "How many times this process has begun to relay.", float64(s.Takeovers))
	metric("counter", "errors_total", "Errors of the lock, the database and Redis.", float64(s.Errors))
	metric("counter", "polls_total", "Polls of the database.", float64(source.Polls))
	metric("counter", "poll_errors_total", "Polls that failed.", float64(source.SourceErrors))
	metric("gauge", "backlog", "Transactions since the oldest that is open.", float64(source.Backlog))
}

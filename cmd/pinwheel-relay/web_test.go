package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/relay"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// Catches: a relay that is ready though it removes nothing, or is not though another one relays.
func TestUnready(t *testing.T) {
	now, failed := time.Now(), errors.New("refused")
	for name, c := range map[string]struct {
		status relay.Status
		ready  bool
	}{
		"waits":                  {relay.Status{}, true},
		"waits, failed long ago": {relay.Status{LastError: failed, FailedAt: now.Add(-time.Minute)}, true},
		"fails":                  {relay.Status{LastError: failed, FailedAt: now.Add(-time.Second)}, false},
		"leads":                  {relay.Status{Leads: true, LastBeat: now.Add(-time.Second / 2)}, true},
		"leads without a beat":   {relay.Status{Leads: true}, false},
		"leads, stuck":           {relay.Status{Leads: true, LastBeat: now.Add(-2 * time.Second)}, false},
	} {
		if err := unready(c.status, now, time.Second); (err == nil) != c.ready {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Catches: a count under another name, or a text that Prometheus does not read.
func TestMetrics(t *testing.T) {
	var text strings.Builder
	now := time.Now()
	writeMetrics(&text, relay.Status{Leads: true, LastBeat: now.Add(-time.Second), Beats: 1, Removed: 2, RemovedAll: 3, Takeovers: 4, Errors: 5}, stats.Near{Polls: 6, SourceErrors: 7, Backlog: 8}, now)
	for _, want := range []string{
		"leads 1", "last_beat_age_seconds 1", "beats_total 1", "removed_keys_total 2", "removed_all_total 3",
		"takeovers_total 4", "errors_total 5", "polls_total 6", "poll_errors_total 7", "backlog 8",
	} {
		name, _, _ := strings.Cut(want, " ")
		for _, line := range []string{"\npinwheel_relay_" + want + "\n", "# HELP pinwheel_relay_" + name + " ", "# TYPE pinwheel_relay_" + name + " "} {
			if !strings.Contains("\n"+text.String(), line) {
				t.Errorf("%q is not in\n%s", line, text.String())
			}
		}
	}
}

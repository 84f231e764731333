package stats_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestLoadsThatHangAmongOthers checks that loads which wait for a place hide none that hang, and
// so hold the places.
func TestLoadsThatHangAmongOthers(t *testing.T) {
	for oldest, want := range map[time.Duration]string{
		29 * time.Second: "waiting for a place",
		30 * time.Second: "loads hang",
	} {
		synctest.Test(t, func(t *testing.T) {
			var r stats.Registry
			var users varying
			r.Register("users", users.snapshot)
			h := r.Handler()
			sleep(2 * time.Second)
			var took, waited stats.DurationRecorder
			for range 100 {
				took.Observe(25 * time.Millisecond)
				waited.Observe(time.Second)
			}
			users.change(func(s *stats.Snapshot) {
				s.Loads = stats.Loads{OK: took.Histogram(), Waits: waited.Histogram(), Running: 60, Queued: 57, Oldest: oldest}
			})
			found := readJSON(t, h).Caches[0]["findings"].([]any)
			if len(found) != 1 || found[0].(map[string]any)["cause"] != want {
				t.Errorf("the oldest load runs for %v: %v, want %q alone", oldest, found, want)
			}
		})
	}
}

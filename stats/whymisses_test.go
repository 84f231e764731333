package stats_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestCausesDoNotFlap checks that a cause stays while the misses go up and down around the
// share from which it is said, and that it goes soon when they are gone.
func TestCausesDoNotFlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		var users varying
		users.change(func(s *stats.Snapshot) { s.Limit, s.Entries = 1000, 1000 })
		r.Register("users", users.snapshot)
		h := r.Handler()
		sleep(2 * time.Second) // looks are between two samples
		// look is five seconds with a hundred gets, some of which miss keys that were evicted.
		look := func(evicted uint64) (causes string) {
			users.change(func(s *stats.Snapshot) {
				s.Hits += 100 - evicted
				s.Misses += evicted
				s.MissesEvicted += evicted
				s.Removals.Evicted += evicted
			})
			for _, f := range readJSON(t, h).Caches[0]["findings"].([]any) {
				causes += f.(map[string]any)["cause"].(string)
			}
			sleep(5 * time.Second)
			return causes
		}
		const minute = 12      // looks; a tenth of its gets must miss
		for range 6 * minute { // until the cache is not new any more
			look(10)
		}
		var said []string
		for n := range minute { // 119 misses in the last minute, 120, 119, ...
			said = append(said, look(9+uint64(2*(n%2))))
		}
		if slices.Contains(said, "") || said[0] != "limit too small" {
			t.Errorf("the page says %q", said)
		}
		for said = nil; len(said) < 4; {
			said = append(said, look(0))
		}
		if got := strings.Join(said, ", "); got != "limit too small, , , " {
			t.Errorf("when nothing misses any more, the page says %q", got)
		}
	})
}

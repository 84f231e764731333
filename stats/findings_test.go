package stats_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestFindingsDoNotFlap checks that a finding that comes and goes ends once at most, is kept for a minute
// after its last end, and that what is remembered does not grow.
func TestFindingsDoNotFlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		var s stats.Snapshot
		r.Register("users", of(&s))
		h := r.Handler()
		going := func() (all, going bool) {
			for _, f := range readJSON(t, h).Caches[0]["findings"].([]any) {
				all, going = true, going || f.(map[string]any)["ended_seconds"] == 0.0
			}
			return all, going
		}
		ends, before := 0, false
		for i := range 600 {
			s.Callbacks.Oldest = time.Duration(i/10%3) * time.Minute // of thirty seconds, ten without
			sleep(time.Second)
			_, now := going()
			if before && !now {
				ends++
			}
			before = now
		}
		if ends > 1 || r.Known("users") != 1 {
			t.Errorf("it ended %d times, and %d are known", ends, r.Known("users"))
		}
		s.Callbacks.Oldest = 0
		sleep(64 * time.Second)
		if all, going := going(); !all || going {
			t.Errorf("a minute after its end: there %t, goes on %t", all, going)
		}
		sleep(time.Minute)
		if all, _ := going(); all || r.Known("users") != 0 {
			t.Errorf("two minutes after its end it is there: %t, and %d are known", all, r.Known("users"))
		}
	})
}

// TestLevelsDoNotFlap checks that a finding that is critical again and again stays so, and not for long afterwards.
func TestLevelsDoNotFlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		s, blocked := stats.Snapshot{}, 1
		s.Callbacks.Oldest = 2 * time.Minute
		r.Add(sources.Cache[stats.Snapshot]{Name: "users", Snapshot: of(&s), Operation: func() sources.Operation { return sources.Operation{Blocked: blocked} }})
		h := r.Handler()
		var levels []string
		for i := range 150 {
			if blocked = 0; i < 100 && i/10%2 == 0 {
				blocked = 1
			}
			sleep(time.Second)
			level := readJSON(t, h).Caches[0]["findings"].([]any)[0].(map[string]any)["level"].(string)
			if n := len(levels); n == 0 || levels[n-1] != level {
				levels = append(levels, level)
			}
		}
		if got := strings.Join(levels, " "); got != "critical warning" {
			t.Errorf("its levels are %s", got)
		}
	})
}

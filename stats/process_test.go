package stats_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/vitals"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// process returns what stats.json has of the process.
func process(t *testing.T, r *stats.Registry) map[string]any {
	t.Helper()
	var d struct{ Process map[string]any }
	must(t, json.Unmarshal([]byte(body(t, r.UnaskedHandler(), "/stats.json")), &d))
	return d.Process
}

// TestFullMemoryIsNamed checks that the page says so when memory is at its limit and the collector is busy,
// names the largest cache, and that this ends.
func TestFullMemoryIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		r.Register("small", always(stats.Snapshot{Entries: 1_000}))
		r.Register("large", always(stats.Snapshot{Entries: 10, Weight: 1 << 20, MaxWeight: 1 << 20}))
		var now vitals.Reading
		pass := func(heap, busy float64, intervals int) string {
			for range intervals {
				now = vitals.Reading{Heap: heap, Limit: 1e9, Collector: now.Collector + busy*10, CPU: now.CPU + 10}
				defer stats.SetVitals(now)()
				sleep(5 * time.Second)
			}
			p := process(t, &r)
			if p["heap_bytes"] != heap || p["memory_limit_bytes"] != 1e9 || p["pid"] != float64(os.Getpid()) {
				t.Errorf("the process is %v", p)
			}
			return fmt.Sprint(p["findings"])
		}
		defer stats.SetVitals(now)()
		r.Handler()
		for _, c := range []struct {
			heap, busy float64
			intervals  int
			want       string
		}{
			{5e8, 0.4, 20, "[]"},
			{1e9, 0.1, 20, "[]"},
			{0.95e9, 0.4, 2, `The largest cache is "large", with 10 entries`},
			{0.95e9, 0.4, 100, `took 40 % of the CPU in the last 10 s, 40 % in a minute`},
			{5e8, 0.1, 2, "ended_seconds:10 level:critical"},
			{5e8, 0.1, 13, "[]"},
			{1.05e9, 0.02, 3, "level:warning"},
		} {
			if got := pass(c.heap, c.busy, c.intervals); !strings.Contains(got, c.want) {
				t.Errorf("%+v: %s", c, got)
			}
		}
	})
}

// TestAStopIsNamed checks that the page and the metrics say that the process was stopped, also if nobody has
// asked for samples, and for a minute only.
func TestAStopIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stats.Registry
		body(t, r.UnaskedHandler(), "/metrics")
		sleep(time.Hour)
		r.Stop(9 * time.Second)
		if p := process(t, &r); fmt.Sprint(p["findings"], p["stopped_seconds"]) != "[] 0" {
			t.Errorf("the process is %v", p)
		}
		r.Stop(30 * time.Second)
		sleep(12 * time.Second)
		p := process(t, &r)
		if got := fmt.Sprint(p["findings"], p["stopped_seconds"]); !strings.Contains(got, "was stopped for 30 s, until 12 s ago") || !strings.Contains(got, "ended_seconds:12 level:warning since_seconds:42") || !strings.HasSuffix(got, " 30") {
			t.Errorf("the process is %v", got)
		}
		if got := r.Metrics(); !strings.Contains(got, "\npinwheel_process_stops_total 1\n") {
			t.Errorf("the metrics are %s", got)
		}
		sleep(time.Minute)
		if p := process(t, &r); fmt.Sprint(p["findings"]) != "[]" {
			t.Errorf("the process is %v", p)
		}
	})
}

package stats

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	prompinwheel "github.com/pinwheel-cache/pinwheel/prometheus"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestCollectorIsTheHandler checks that the collector has what the handler serves, sample for
// sample but for those of the process, and that promlint finds nothing.
func TestCollectorIsTheHandler(t *testing.T) {
	registerCache(t, "full", always(distinct(0)))
	registerCache(t, `odd "name" \ 1`, always(stats.Snapshot{}))
	registerWheel(t, "wheel", always(distinctWheel(1000)))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(prompinwheel.NewCollector())
	served, _, _ := strings.Cut(metrics(t), "# HELP pinwheel_process_")
	if n := strings.Count(served, "# TYPE "); n < 20 {
		t.Errorf("only %d families", n)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(served)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// Package studies has the benchmarks behind results/timers.md, docs/timers.md and the pauses of
// docs/performance.md. Those of a study that has ended are in the history, as its results say.
package studies

import (
	"flag"
	"os"
	"testing"
	"time"
)

// million timers or entries; and timers are set within the time wait, after which the first is due,
// and the others within a quarter of it. -short makes both small, to test that the benchmarks work.
var (
	million = 1_000_000
	wait    = 4 * time.Second
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		million, wait = 10_000, 500*time.Millisecond
	}
	os.Exit(m.Run())
}

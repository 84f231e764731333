// Unserved uses the statistics but never shows them.
package main

import (
	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func main() {
	var loads histogram.DurationRecorder
	loads.Observe(1)
	_, unregister := sources.Register(sources.Cache[stats.Snapshot]{Snapshot: func() (stats.Snapshot, bool) {
		return stats.Snapshot{Loads: stats.Loads{OK: stats.Histogram(loads.Histogram())}}, true
	}})
	println(len(stats.Caches()))
	unregister()
}

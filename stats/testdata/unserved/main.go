// Unserved uses the statistics but never shows them.
package main

import "github.com/pinwheel-cache/pinwheel/stats"

func main() {
	var loads stats.DurationRecorder
	loads.Observe(1)
	_, unregister := stats.Register(stats.CacheSource{Snapshot: func() (stats.Snapshot, bool) {
		return stats.Snapshot{Loads: stats.Loads{OK: loads.Histogram()}}, true
	}})
	println(len(stats.Caches()))
	unregister()
}

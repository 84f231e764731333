package gozero_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/gozero"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestSourceThatMakesACache checks that a source may make a cache while it is asked.
func TestSourceThatMakesACache(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		gozero.FreshLog()
		j := newJournal(t)
		began := time.Now()
		_, unregister := stats.Register(stats.CacheSource{Name: "source", Snapshot: func() (stats.Snapshot, bool) {
			gozero.LogStats()
			return stats.Snapshot{Hits: uint64(time.Since(began) / time.Minute)}, true
		}})
		gozero.LogStats()
		time.Sleep(time.Minute)
		synctest.Wait()
		wantLines(t, j, "cache(source) - qpm: 1, hit_ratio: 100.0%, elements: 0, hit: 1, miss: 0")
		unregister()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
	})
}

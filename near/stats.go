package near

import (
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// Stats returns the counts of the cache since it was made. Hits are values from memory. The
// counts are read one after the other, not at one moment.
func (c *Cache[K, V]) Stats() stats.Snapshot { return c.local.Stats() }

// Stats returns the counts of the cache since it was made. Of the part Near a Local fills in
// what the source has told; the option Amend of its cache can add the rest.
func (l *Local[K, V]) Stats() stats.Snapshot { return l.cache.Stats() }

// counts are what a Cache adds to the statistics.
type counts struct {
	remoteHits, fetches, bypasses, waits, overtaken, servedOn, storeErrors, storeSpared atomic.Uint64

	inGrace                                      atomic.Uint64
	refreshes, refreshesFailed, refreshesSkipped atomic.Uint64
}

func (c *Cache[K, V]) addTo(s *stats.Snapshot) {
	c.counts.addTo(&s.Near)
	s.Near.StoreAway = c.breaker.isOpen()
	s.HitsInGrace += c.counts.inGrace.Load()
	r := &s.Loads.Refreshes
	r.OK += c.counts.refreshes.Load()
	r.Failed += c.counts.refreshesFailed.Load()
	r.Skipped += c.counts.refreshesSkipped.Load()
}

func (c *counts) addTo(n *stats.Near) {
	n.RemoteHits = c.remoteHits.Load()
	n.Fetches = c.fetches.Load()
	n.Bypasses = c.bypasses.Load()
	n.Waits = c.waits.Load()
	n.Overtaken = c.overtaken.Load()
	n.ServedOn = c.servedOn.Load()
	n.StoreErrors = c.storeErrors.Load()
	n.StoreSpared = c.storeSpared.Load()
}

// localCounts are what a Local adds to the statistics.
type localCounts struct {
	changes, forgottenAll, reconnects, unserved, recent atomic.Uint64
}

func (l *Local[K, V]) addTo(s *stats.Snapshot) {
	lag, known := l.link.lag()
	if !known {
		lag = time.Since(l.link.start)
	}
	unserved := l.counts.unserved.Load()
	s.Misses += unserved
	apart := l.recent.cache.Stats()
	s.Loads.Add(&apart.Loads)
	s.Near = stats.Near{
		Unserved:     unserved,
		Recent:       l.counts.recent.Load(),
		Changes:      l.counts.changes.Load(),
		ForgottenAll: l.counts.forgottenAll.Load(),
		Reconnects:   l.counts.reconnects.Load(),
		Serving:      l.link.serves(),
		Lag:          lag,
		MaxLag:       l.link.maxLag,
	}
	l.report(&s.Near)
}

package near

import (
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// Stats returns the counts of the cache since it was made. Hits are values from memory. The
// counts are read one after the other, not at one moment.
func (c *Cache[K, V]) Stats() stats.Snapshot { return c.local.Stats() }

// Stats returns the counts of the cache since it was made. Of the part Near a Local fills in
// what the source has told; its option Amend can add the rest.
func (l *Local[K, V]) Stats() stats.Snapshot { return l.cache.Stats() }

// counts are what a Cache adds to the statistics.
type counts struct {
	remoteHits, fetches, bypasses, waits, overtaken, servedOn, storeErrors, undecodable, unasked atomic.Uint64
}

func (c *counts) addTo(s *stats.Snapshot) {
	n := &s.Near
	n.RemoteHits = c.remoteHits.Load()
	n.Fetches = c.fetches.Load()
	n.Bypasses = c.bypasses.Load()
	n.Waits = c.waits.Load()
	n.Overtaken = c.overtaken.Load()
	n.ServedOn = c.servedOn.Load()
	n.StoreErrors = c.storeErrors.Load()
	n.Undecodable = c.undecodable.Load()
	n.Unasked = c.unasked.Load()
}

// amend adds to a Snapshot, with an auditor.
func (c *Cache[K, V]) amend(s *stats.Snapshot) {
	c.counts.addTo(s)
	c.auditor.audits.addTo(s)
}

// operate adds to what operators see, with an auditor.
func (c *Cache[K, V]) operate(of *sources.Operation) {
	c.undone.addTo(of)
	c.auditor.audits.operate(of)
}

// audits are what an auditor adds to the statistics.
type audits struct {
	oneIn                              int // the option Audit
	same, changed, violations, unknown atomic.Uint64

	ages histogram.AgeRecorder // of what was drawn
	last atomic.Pointer[violation]
}

func (a *audits) addTo(s *stats.Snapshot) {
	s.Near.Audits = stats.Audits{
		OneIn: a.oneIn, Same: a.same.Load(), Changed: a.changed.Load(),
		Violations: a.violations.Load(), Unknown: a.unknown.Load(),
	}
}

func (a *audits) operate(of *sources.Operation) { of.AuditedAge = a.ages.Histogram() }

// violation returns the last that was found; nil: none.
func (a *audits) violation() *sources.Violation {
	v := a.last.Load()
	if v == nil {
		return nil
	}
	return &sources.Violation{Hash: v.hash, Loaded: v.loaded, Differed: v.differed, Served: v.served}
}

// localCounts are what a Local adds to the statistics.
type localCounts struct {
	changes, forgottenAll, reconnects, unserved atomic.Uint64

	storeReads histogram.DurationRecorder // of a Cache
}

func (l *Local[K, V]) addTo(s *stats.Snapshot) {
	lag, behind, known := l.link.lag()
	if !known {
		lag = time.Since(l.link.start)
	}
	s.Near = stats.Near{
		Unserved:     l.counts.unserved.Load(),
		Changes:      l.counts.changes.Load(),
		ForgottenAll: l.counts.forgottenAll.Load(),
		Reconnects:   l.counts.reconnects.Load(),
		Serving:      l.link.vouches(),
		Partial:      l.partial(),
		Lag:          lag,
		Behind:       behind,
		MaxLag:       l.link.maxLag,
	}
}

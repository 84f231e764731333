// This file has what all loads of a cache have in common: their options, and what is counted of them.

package cache

import (
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/flight"
	"github.com/pinwheel-cache/pinwheel/internal/base"
	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// loading has the options and counts of loads. It is safe for concurrent use.
type loading struct {
	cache    string                    // its name in the statistics, and in errors
	rules    flight.Rules              // of Timeout and MaxLoads
	negative func(error) time.Duration // how long to keep an error; nil: none
	followed base.Followed             // is told who has waited for the loads of others; nil: nobody is

	counts     atomic.Pointer[loadCounts] // nil before the first load
	lastFailed atomic.Pointer[sources.Failure]
	waiters    atomic.Uint64 // callers that joined a load
	abandoned  atomic.Uint64 // callers that gave up before their load had ended
	renewals   renewals
}

// loadCounts is apart, as many caches never load.
type loadCounts struct {
	ok, failed, timedOut histogram.DurationRecorder
	notFound             atomic.Uint64 // keys that loads found to have no value
	permits              histogram.DurationRecorder
	waits                histogram.DurationRecorder // of callers
	refused              atomic.Uint64              // callers that got an error
}

func (l *loading) init(cache string, timeout time.Duration, maxLoads int) {
	l.cache = cache
	l.rules.Init(maxLoads, timeout, ErrTimeout, l)
}

// made returns the counts, which it makes at the first load.
func (l *loading) made() *loadCounts {
	if l.counts.Load() == nil {
		l.counts.CompareAndSwap(nil, new(loadCounts))
	}
	return l.counts.Load()
}

// count counts a load that has ended, with the error by which it has failed, or nil.
func (l *loading) count(took time.Duration, err error, timedOut bool) {
	switch c := l.made(); {
	case err == nil:
		c.ok.Observe(took)
		return
	case timedOut:
		c.timedOut.Observe(took)
	default:
		c.failed.Observe(took)
	}
	l.lastFailed.Store(&sources.Failure{Time: time.Now(), Err: err})
}

// TimedOut counts a load at the end of Timeout, as its fetch may never end.
func (l *loading) TimedOut(after time.Duration) { l.count(after, ErrTimeout, true) }

// Queued counts the wait of a load for a permit.
func (l *loading) Queued(wait time.Duration) { l.made().permits.Observe(wait) }

// served counts a caller that had to wait for its result, now that it has one, or an error.
func (l *loading) served(who *caller, err error) {
	if who.came > 0 {
		l.made().waits.Observe(time.Duration(who.ended - who.came))
	}
	if err != nil && who.refused {
		l.made().refused.Add(1)
	}
}

func (l *loading) stats() stats.Loads {
	loads := stats.Loads{
		Waiters:   l.waiters.Load(),
		Queued:    l.rules.Waiting(),
		Abandoned: l.abandoned.Load(),
		Refreshes: l.renewals.stats(),
	}
	if c := l.counts.Load(); c != nil {
		loads.OK = stats.Histogram(c.ok.Histogram())
		loads.Failed = stats.Histogram(c.failed.Histogram())
		loads.TimedOut = stats.Histogram(c.timedOut.Histogram())
	}
	return loads
}

// operation returns what only operators want to know.
func (l *loading) operation() (o sources.Operation) {
	if c := l.counts.Load(); c != nil {
		o.NotFound, o.Refused = c.notFound.Load(), c.refused.Load()
		o.Permits, o.Waits = c.permits.Histogram(), c.waits.Histogram()
	}
	return o
}

// renewals counts renewals by their result.
type renewals struct {
	ok, failed, dropped, skipped atomic.Uint64
}

// count counts a renewal that has ended.
func (r *renewals) count(failed, dropped bool) {
	switch {
	case dropped:
		r.dropped.Add(1)
	case failed:
		r.failed.Add(1)
	default:
		r.ok.Add(1)
	}
}

func (r *renewals) stats() stats.Refreshes {
	return stats.Refreshes{OK: r.ok.Load(), Failed: r.failed.Load(), Dropped: r.dropped.Load(), Skipped: r.skipped.Load()}
}

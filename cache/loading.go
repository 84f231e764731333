// This file has what all loads of a cache have in common: their options, and what is counted of them.

package cache

import (
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/flight"
	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// loading has the options and counts of loads. It is safe for concurrent use.
type loading struct {
	cache    string                    // its name in the statistics, and in errors
	rules    flight.Rules              // of Timeout and MaxLoads
	negative func(error) time.Duration // how long to keep an error; nil: none

	ok, failed histogram.DurationRecorder
	lastFailed atomic.Pointer[failure]
	waiters    atomic.Uint64 // callers that joined a load
	abandoned  atomic.Uint64 // callers that gave up before their load had ended
	renewals   renewals
}

// A failure is the error of a load, and when it failed.
type failure struct {
	at  time.Time
	err error
}

func (l *loading) init(cache string, timeout time.Duration, maxLoads int) {
	l.cache = cache
	l.rules.Init(maxLoads, timeout, ErrTimeout)
}

// count counts a load that has ended, with the error by which it has failed, or nil.
func (l *loading) count(took time.Duration, err error) {
	if err == nil {
		l.ok.Observe(took)
		return
	}
	l.failed.Observe(took)
	l.lastFailed.Store(&failure{time.Now(), err})
}

func (l *loading) stats() stats.Loads {
	return stats.Loads{
		OK:        stats.Histogram(l.ok.Histogram()),
		Failed:    stats.Histogram(l.failed.Histogram()),
		Waiters:   l.waiters.Load(),
		Queued:    l.rules.Waiting(),
		Abandoned: l.abandoned.Load(),
		Refreshes: l.renewals.stats(),
	}
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

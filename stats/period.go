package stats

import (
	"sync"
	"time"
)

// A period has the counts of a time between two snapshots.
type period struct {
	gets, misses, absent, expired, evicted uint64
	evictions, loads, failed, inGrace      uint64
	storeErrors, bypasses, unasked         uint64 // of a near cache
	undecodable                            uint64 // too
	whatIf                                 WhatIf
	loading                                time.Duration // the total duration of loads
}

// never is the Snapshot of a cache that has just been made.
var never Snapshot

// between returns what happened from one Snapshot to another.
func between(from, to *Snapshot) period {
	s := minuends.Get().(*Snapshot)
	defer minuends.Put(s)
	*s = *to
	subtract(cacheMetrics, s, from)
	loads := s.Loads.all()
	return period{
		gets:      s.Gets(),
		misses:    s.Misses,
		absent:    s.missesAbsent(),
		expired:   s.MissesExpired,
		evicted:   s.MissesEvicted,
		evictions: s.Removals.Evicted,
		loads:     loads.Count(),
		failed:    s.Loads.Failed.Count(),
		inGrace:   s.HitsInGrace,
		loading:   loads.Sum(),

		storeErrors: s.Near.StoreErrors,
		unasked:     s.Near.Unasked,
		bypasses:    s.Near.Bypasses,
		undecodable: s.Near.Undecodable,

		whatIf: s.WhatIf,
	}
}

// minuends are reused, as a Snapshot is large and a look takes several.
var minuends = sync.Pool{New: func() any { return new(Snapshot) }}

// of returns n as a share of the gets, from 0 to 1.
func (s period) of(n uint64) float64 { return float64(n) / float64(max(s.gets, 1)) }

func (s period) loadTime() time.Duration { return s.loading / time.Duration(max(s.loads, 1)) }

// samplesPerMinute is how many samples are taken in a minute.
const samplesPerMinute = int(time.Minute / interval)

// lastMinute returns what happened in the last minute, or since the history began.
func lastMinute(l *look[Snapshot]) (s period) {
	if n := len(l.samples); n > 0 {
		s = between(&l.samples[max(0, n-samplesPerMinute)].stats, l.stats)
	}
	return s
}

// beforeLastMinute returns what happened before that, since the cache was made.
func beforeLastMinute(l *look[Snapshot]) (s period) {
	if n := len(l.samples); n > samplesPerMinute {
		s = between(&never, &l.samples[n-samplesPerMinute].stats)
	}
	return s
}

// bestMinute returns the minute of the history, before the last one, with the lowest share
// of misses: the normal state, as far as the history goes back. Minutes with few gets do
// not count.
func bestMinute(l *look[Snapshot]) (best period) {
	for to := len(l.samples) - samplesPerMinute; to > 0; to -= samplesPerMinute / 4 {
		a, b := &l.samples[max(0, to-samplesPerMinute)].stats, &l.samples[to].stats
		s := period{gets: minus(b.Hits+b.Misses, a.Hits+a.Misses), misses: minus(b.Misses, a.Misses)}
		if s.gets >= minGetsPerMinute && (best.gets == 0 || s.of(s.misses) < best.of(best.misses)) {
			best = between(a, b)
		}
	}
	return best
}

package stats

import "time"

// A period has the counts of a time between two snapshots.
type period struct {
	gets, misses, absent, expired, evicted uint64
	evictions, loads, failed, inGrace      uint64
	storeErrors, bypasses, unasked         uint64        // of a near cache
	undecodable                            uint64        // too
	loading                                time.Duration // the total duration of loads
}

// between returns what happened from one Snapshot to another. Unlike Minus it does not copy
// Snapshots, which are large.
func between(from, to *Snapshot) period {
	absent := func(s *Snapshot) uint64 { return minus(s.Misses, s.MissesExpired+s.MissesEvicted) }
	failed := minus(to.Loads.Failed.Count(), from.Loads.Failed.Count())
	return period{
		gets:      minus(to.Hits+to.Misses, from.Hits+from.Misses),
		misses:    minus(to.Misses, from.Misses),
		absent:    minus(absent(to), absent(from)),
		expired:   minus(to.MissesExpired, from.MissesExpired),
		evicted:   minus(to.MissesEvicted, from.MissesEvicted),
		evictions: minus(to.Removals.Evicted, from.Removals.Evicted),
		loads:     minus(to.Loads.OK.Count(), from.Loads.OK.Count()) + failed,
		failed:    failed,
		inGrace:   minus(to.HitsInGrace, from.HitsInGrace),
		loading:   max(0, to.Loads.OK.Sum()-from.Loads.OK.Sum()) + max(0, to.Loads.Failed.Sum()-from.Loads.Failed.Sum()),

		storeErrors: minus(to.Near.StoreErrors, from.Near.StoreErrors),
		unasked:     minus(to.Near.Unasked, from.Near.Unasked),
		bypasses:    minus(to.Near.Bypasses, from.Near.Bypasses),
		undecodable: minus(to.Near.Undecodable, from.Near.Undecodable),
	}
}

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
		s = between(new(Snapshot), &l.samples[n-samplesPerMinute].stats)
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
		if s.gets >= enough && (best.gets == 0 || s.of(s.misses) < best.of(best.misses)) {
			best = between(a, b)
		}
	}
	return best
}

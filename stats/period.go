package stats

import (
	"sync"
	"time"
)

// A period has what happened between two snapshots. Its levels and gauges are those of the later.
type period struct{ Snapshot }

// never is the Snapshot of a cache that has just been made.
var never Snapshot

// between returns what happened from one Snapshot to another.
func between(from, to *Snapshot) period {
	s := minuends.Get().(*Snapshot)
	defer minuends.Put(s)
	*s = *to
	subtract(cacheMetrics, s, from)
	return period{*s}
}

// minuends are reused, as a Snapshot is large and a look takes several.
var minuends = sync.Pool{New: func() any { return new(Snapshot) }}

// of returns n as a share of the gets, from 0 to 1.
func (s period) of(n uint64) float64 { return float64(n) / float64(max(s.Gets(), 1)) }

func (s period) loads() uint64 { return s.Loads.all().Count() }

func (s period) loadTime() time.Duration { return s.Loads.all().Mean() }

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
		s := period{Snapshot{Hits: minus(b.Hits, a.Hits), Misses: minus(b.Misses, a.Misses)}} // all that is compared
		if s.Gets() >= minGetsPerMinute && (best.Gets() == 0 || s.of(s.Misses) < best.of(best.Misses)) {
			best = between(a, b)
		}
	}
	return best
}

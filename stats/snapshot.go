package stats

import (
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

// A Snapshot has the counts of one cache. Counters are cumulative since the cache was made;
// gauges, marked as such, are the present state. A Snapshot is taken part by part while the
// cache is in use. Numbers of one part fit together, such as hits and misses, or values stored,
// values removed and entries. Numbers of different parts, such as evictions and their ages, may
// differ by what happened in between. A new cache has the zero Snapshot.
//
// A Snapshot is a value without pointers: it may be copied, compared with == and read by
// several goroutines.
type Snapshot struct {
	Hits   uint64 // gets that found a value, or one in grace
	Misses uint64 // gets that did not

	// MissesExpired counts misses of keys that expired recently, MissesEvicted misses of keys
	// that were evicted recently. A cache remembers about as many such keys as it has entries.
	// Of more than 512 entries in a shard it remembers a sample, and the counts are estimates.
	// The keys of other misses were never there, or only long ago, or the program removed them.
	MissesExpired, MissesEvicted uint64

	// HitsInGrace counts the Takes that got a value past its deadline. They are among
	// Hits. Near caches have none.
	HitsInGrace uint64

	Sets     uint64 // values stored by any method but Restore
	Restored uint64 // values that came from a snapshot
	Removals Removals
	Loads    Loads

	Entries   int    // gauge
	Negatives int    // gauge: kept errors of loads; not among Entries
	Limit     int    // gauge: most entries; 0 = no limit
	Weight    uint64 // gauge; 0 if not weighted
	MaxWeight uint64 // gauge: most weight; 0 = not weighted

	// HottestShare is a gauge: the share of the hottest key in recent gets, from 0 to 1, a
	// lower bound. It is 0 if the cache does not find hot keys.
	HottestShare float64

	Callbacks Callbacks
	Expiry    Expiry

	EvictedAge Histogram // how old values were when they were evicted; empty without Ages
	WhatIf     WhatIf    // zero if the cache estimates nothing
	Near       Near      // zero if the cache is not a near cache

	operation sources.Operation // of a registered cache; zero in what its method Stats returns
}

// WhatIf estimates what a cache would do with another limit, or with the other policy. Four
// caches without values see a sample of the keys. The counts are scaled up to the whole
// cache.
type WhatIf struct {
	Gets               uint64 // estimated gets
	Half, Same, Double uint64 // estimated hits with half the limit, the same and double
	OtherPolicy        uint64 // estimated hits with the same limit and the other policy
}

// Removals counts the values that left a cache, by cause.
type Removals struct {
	Expired  uint64 // their deadline had passed
	Evicted  uint64 // the cache was full
	Deleted  uint64 // the program removed the key
	Replaced uint64 // the program stored another value for the key
	Cleared  uint64 // the program removed all keys
}

// Loads is about the fetches of a cache for its callers. Durations of OK and Failed are without the wait
// for a permit of MaxLoads.
type Loads struct {
	OK       Histogram // durations of loads with a value, or with an error that says that there is none
	Failed   Histogram // durations of all other loads, but of those in TimedOut
	TimedOut Histogram // durations of loads until Timeout ended, even if they go on, or that failed by a time-out
	Waiters  uint64    // callers that joined the load of another caller

	Running   int           // gauge: loads that have not ended
	Oldest    time.Duration // gauge: how long the oldest running load has run; 0 if there is none
	Queued    int           // gauge: running loads that wait for a permit of MaxLoads
	Abandoned uint64        // callers that gave up, as their context ended before the load
	Refreshes Refreshes
}

// Refreshes counts the loads of keys with a value that was due to be refreshed, or in grace.
// All but the skipped ones are among OK and Failed of [Loads] too.
type Refreshes struct {
	OK      uint64 // brought a value, or an error that Negative keeps
	Failed  uint64 // brought nothing: the present value stayed
	Dropped uint64 // ended in vain: the key was changed or evicted meanwhile
	Skipped uint64 // did not begin: there was no permit, or another load of the key ran
}

// Callbacks is about the calls of OnRemove.
type Callbacks struct {
	Queued  int           // gauge: calls that have not begun yet
	Running int           // gauge: calls that have begun and not ended
	Oldest  time.Duration // gauge: how long the oldest running call has run; 0 if there is none
	Panics  uint64        // calls that ended in a panic
}

// Expiry is about what waits in a timing wheel: the entries of a cache that expire, or timers.
type Expiry struct {
	Pending    int       // gauge: entries with a deadline, or timers that wait for their time
	Overdue    int       // gauge: entries whose removal is late; due timers whose callbacks have not begun, which have left Pending
	Tombstones int       // gauge: removed tasks the wheel has not reached yet
	Lateness   Histogram // from an entry's deadline to its removal; from the tick at which a timer was due to its callback
}

// Gets returns the number of gets: hits plus misses.
func (s Snapshot) Gets() uint64 {
	return s.Hits + s.Misses
}

// HitRatio returns the share of hits in the gets, from 0 to 1. It is 0 without gets.
func (s Snapshot) HitRatio() float64 {
	gets := s.Gets()
	if gets == 0 {
		return 0
	}
	return float64(s.Hits) / float64(gets)
}

// WhatIfHitRatio returns an estimate of the hit ratio, from 0 to 1, that the cache would have had
// with hits of [WhatIf], such as s.WhatIf.Double; ok is false if nothing was estimated yet.
//
// The estimate is the hit ratio of the cache, minus the difference between Same and hits. Both
// see the same sample, so it matters little which keys are in the sample.
func (s Snapshot) WhatIfHitRatio(hits uint64) (ratio float64, ok bool) {
	if s.WhatIf.Gets == 0 || s.Gets() == 0 {
		return 0, false
	}
	// A share of WhatIf.Gets would depend on which hot keys are in the sample.
	change := (float64(hits) - float64(s.WhatIf.Same)) / float64(s.Gets())
	return min(max(s.HitRatio()+change, 0), 1), true
}

// Minus returns what happened after earlier was taken: each counter minus that of earlier,
// and the gauges of s. Both must be of the same cache. A counter below its earlier value
// gives 0, so a cache made anew in between never shows huge numbers.
func (s Snapshot) Minus(earlier Snapshot) Snapshot {
	subtract(cacheMetrics, &s, &earlier)
	return s
}

// missesAbsent returns the misses that are neither in MissesExpired nor in MissesEvicted.
func (s *Snapshot) missesAbsent() uint64 {
	return minus(s.Misses, s.MissesExpired+s.MissesEvicted)
}

// all returns the durations of all loads, however they ended.
func (l *Loads) all() histogram.Histogram {
	return l.OK.data().Plus(l.failed())
}

// failed returns the durations of the loads that brought nothing, time-outs too.
func (l *Loads) failed() histogram.Histogram {
	return l.Failed.data().Plus(l.TimedOut.data())
}

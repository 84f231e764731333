package stats

import "time"

// A Snapshot has the counts of one cache. Counters are cumulative since the cache was made;
// gauges, marked as such, are the present state. A Snapshot is taken part by part while the
// cache is in use. Numbers of one part fit together, such as hits and misses, or the values
// stored, those removed and the entries. Numbers of different parts, such as evictions and
// their ages, may differ by what happened in between. The zero Snapshot is that of a new
// cache.
//
// A Snapshot is a value without pointers: it may be copied, compared with == and read by
// several goroutines.
type Snapshot struct {
	Hits   uint64 // gets that found a live entry
	Misses uint64 // gets that did not

	// MissesExpired counts the misses of keys that expired recently, MissesEvicted those of
	// keys that were evicted recently. A cache remembers about as many such keys as it has
	// entries. Of more than 512 entries in a shard it remembers a sample, and the counts are
	// estimates. The other misses are of keys that were never there, or long ago, or were
	// removed by the program.
	MissesExpired, MissesEvicted uint64

	// HitsInGrace counts the Takes that got a value past its deadline. All but those of
	// TakeMissed are among Hits.
	HitsInGrace uint64

	Sets     uint64 // values stored by any method but Restore
	Restored uint64 // values that came from a snapshot
	Removals Removals
	Loads    Loads

	Entries   int    // gauge
	Negatives int    // gauge: errors of loads that are kept; not among Entries
	Limit     int    // gauge: most entries; 0 = no limit
	Weight    uint64 // gauge; 0 if not weighted
	MaxWeight uint64 // gauge: most weight; 0 = not weighted

	// HottestShare is a gauge: the share of recent gets that are of the hottest key, from 0
	// to 1, a lower bound. It is 0 if the cache does not find hot keys.
	HottestShare float64

	Callbacks Callbacks
	Expiry    Expiry

	EvictedAge Histogram // of the values evicted, since they were stored; empty if the cache does not track it
	WhatIf     WhatIf    // zero if the cache does not estimate it
	Near       Near      // zero if the cache is none of package near
}

// WhatIf estimates what a cache would do with another limit, or with the other policy. Four
// caches without values see a sample of the keys. The counts are scaled up to the whole
// cache.
type WhatIf struct {
	Gets               uint64 // gets
	Half, Same, Double uint64 // those of Gets that a cache of half the limit, of the same and of double answered
	OtherPolicy        uint64 // those that one of the same limit answered which evicts by the other policy
}

// Removals counts the values that left a cache, by cause.
type Removals struct {
	Expired  uint64 // their deadline had passed
	Evicted  uint64 // the cache was full
	Deleted  uint64 // the program removed the key
	Replaced uint64 // the program stored another value for the key
	Cleared  uint64 // the program removed all keys
}

// Loads counts the values a cache had fetched for its callers.
type Loads struct {
	OK      Histogram // durations of the loads that returned a value, or an error that Negative keeps
	Failed  Histogram // durations of the loads that did not
	Waiters uint64    // callers that joined the load of another caller

	Running   int           // gauge: loads that have not ended
	Oldest    time.Duration // gauge: how long the oldest of Running has run; 0 if none does
	Queued    int           // gauge: those of Running that wait for a permit of MaxLoads
	Abandoned uint64        // callers that gave up, as their context ended before the load
	Refreshes Refreshes
}

// Refreshes counts the loads of keys that had a value, due to be refreshed or in grace.
// They are among the loads of OK and Failed, but for those skipped.
type Refreshes struct {
	OK      uint64 // brought a value, or an error that Negative keeps
	Failed  uint64 // did not: the present one stayed
	Dropped uint64 // ended in vain: the key was changed or evicted meanwhile
	Skipped uint64 // did not begin: there was no place, or another load of the key ran
}

// Callbacks is about the functions that a cache calls when it removes a value.
type Callbacks struct {
	Queued  int           // gauge: calls that have not begun yet
	Running int           // gauge: calls that have begun and not ended
	Oldest  time.Duration // gauge: how long the oldest of Running has run; 0 if none does
	Panics  uint64        // calls that ended in a panic
}

// Expiry is about the timing wheel that removes expired entries.
type Expiry struct {
	Pending    int       // gauge: entries with a deadline
	Overdue    int       // gauge: those of Pending whose deadline has passed, once removal is late
	Tombstones int       // gauge: removed tasks the wheel has not reached yet
	Lateness   Histogram // from an entry's deadline to its removal
}

// Gets returns the number of gets, which is hits plus misses.
func (s Snapshot) Gets() uint64 {
	return s.Hits + s.Misses
}

// HitRatio returns the share of the gets that were hits, from 0 to 1. It is 0 without gets.
func (s Snapshot) HitRatio() float64 {
	gets := s.Gets()
	if gets == 0 {
		return 0
	}
	return float64(s.Hits) / float64(gets)
}

// WhatIfHalf returns an estimate of the hit ratio that the cache would have with half
// its limit, from 0 to 1. It is false if nothing was estimated yet.
//
// The estimate is the hit ratio of the cache, minus the difference between Same and Half in
// [WhatIf]. Because both see the same sample, it matters little which keys are in it.
func (s Snapshot) WhatIfHalf() (ratio float64, ok bool) { return s.whatIf(s.WhatIf.Half) }

// WhatIfDouble is [Snapshot.WhatIfHalf] for double the limit.
func (s Snapshot) WhatIfDouble() (ratio float64, ok bool) { return s.whatIf(s.WhatIf.Double) }

// WhatIfOtherPolicy is [Snapshot.WhatIfHalf] for the limit as it is, with the other policy
// of eviction.
func (s Snapshot) WhatIfOtherPolicy() (ratio float64, ok bool) { return s.whatIf(s.WhatIf.OtherPolicy) }

func (s Snapshot) whatIf(hits uint64) (ratio float64, ok bool) {
	if s.WhatIf.Gets == 0 || s.Gets() == 0 {
		return 0, false
	}
	// Not as a share of WhatIf.Gets: that depends on which hot keys are in the sample.
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

// MissesAbsent returns the misses that are neither in MissesExpired nor in MissesEvicted.
func (s Snapshot) MissesAbsent() uint64 {
	return minus(s.Misses, s.MissesExpired+s.MissesEvicted)
}

// Total returns the number of values that left the cache, for any cause.
func (r Removals) Total() uint64 {
	return r.Expired + r.Evicted + r.Deleted + r.Replaced + r.Cleared
}

// minus returns what happened since an earlier WhatIf.
func (w WhatIf) minus(earlier WhatIf) WhatIf {
	return WhatIf{
		Gets:        minus(w.Gets, earlier.Gets),
		Half:        minus(w.Half, earlier.Half),
		Same:        minus(w.Same, earlier.Same),
		Double:      minus(w.Double, earlier.Double),
		OtherPolicy: minus(w.OtherPolicy, earlier.OtherPolicy),
	}
}

// all returns the durations of all loads, however they ended.
func (l Loads) all() Histogram {
	return l.OK.Plus(l.Failed)
}

package otelpinwheel_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// registerCache registers a cache that reports s until the test ends.
func registerCache(t testing.TB, name string, s *stats.Snapshot) {
	t.Helper()
	_, unregister := stats.Register(stats.CacheSource{Name: name, Snapshot: func() (stats.Snapshot, bool) { return *s, true }})
	t.Cleanup(unregister)
}

// registerWheel registers a timing wheel that reports w until the test ends.
func registerWheel(t testing.TB, name string, w *stats.WheelSnapshot) {
	t.Helper()
	_, unregister := stats.Register(stats.WheelSource{Name: name, Snapshot: func() (stats.WheelSnapshot, bool) { return *w, true }})
	t.Cleanup(unregister)
}

// numbers are different ones, so that none is taken for another.
type numbers uint64

func (n *numbers) next() uint64 { *n++; return uint64(*n) }

func (n *numbers) int() int { return int(n.next()) }

func (n *numbers) seconds() time.Duration { return time.Duration(n.next()) * time.Second }

// times returns durations for a histogram, with a different number in each bucket.
func (n *numbers) times() (all []time.Duration) {
	for bound := range (stats.Histogram{}).Buckets() {
		all = append(all, slices.Repeat([]time.Duration{min(bound, time.Minute)}, n.int())...)
	}
	return all
}

func (n *numbers) histogram() stats.Histogram {
	var r stats.DurationRecorder
	for _, d := range n.times() {
		r.Observe(d)
	}
	return r.Histogram()
}

func (n *numbers) ages() stats.Ages {
	var r stats.AgeRecorder
	for _, d := range n.times() {
		r.Observe(4096 * d)
	}
	return r.Ages()
}

// full returns what a cache reports that has something in every number.
func full(n *numbers) stats.Snapshot {
	return stats.Snapshot{
		Hits: n.next(), Misses: n.next() + 1000, MissesExpired: n.next(), MissesEvicted: n.next(),
		HitsInGrace: n.next(), Sets: n.next(), Restored: n.next(),
		Removals: stats.Removals{Expired: n.next(), Evicted: n.next(), Deleted: n.next(), Replaced: n.next(), Cleared: n.next()},
		Loads: stats.Loads{
			OK: n.histogram(), Failed: n.histogram(), Waits: n.histogram(), Negative: n.next(), Waiters: n.next(), Running: n.int(), Oldest: n.seconds(), Queued: n.int(), Abandoned: n.next(),
			Refreshes: stats.Refreshes{OK: n.next(), Failed: n.next(), Dropped: n.next(), Skipped: n.next()},
		},
		Entries: n.int(), Negatives: n.int(), Limit: n.int(), Weight: n.next(), MaxWeight: n.next(), HottestShare: 0.25,
		Callbacks:  stats.Callbacks{Queued: n.int(), Running: n.int(), Oldest: n.seconds(), Blocked: n.int(), Panics: n.next()},
		Expiry:     stats.Expiry{Pending: n.int(), Overdue: n.int(), Tombstones: n.int(), Lateness: n.histogram()},
		EvictedAge: n.ages(),
		WhatIf:     stats.WhatIf{Gets: n.next(), Half: n.next(), Same: n.next(), Double: n.next(), OtherPolicy: n.next()},
		Near: stats.Near{
			RemoteHits: n.next(), Fetches: n.next(), Bypasses: n.next(), Waits: n.next(), Overtaken: n.next(), Unserved: n.next(), ServedOn: n.next(), Recent: n.next(), StoreSpared: n.next(),
			StoreErrors: n.next(), Changes: n.next(), ForgottenAll: n.next(), Reconnects: n.next(), Polls: n.next(), SourceErrors: n.next(), Backlog: int(n.next()), Restored: n.next(), RoundTrip: n.seconds(), Notified: true, StoreAway: true, Serving: true, Lag: n.seconds(), MaxLag: n.seconds(),
		},
	}
}

// fullWheel returns what a timing wheel reports that has something in every number.
func fullWheel(n *numbers) stats.WheelSnapshot {
	return stats.WheelSnapshot{
		Pending: n.int(), Backlog: n.int(), Running: n.int(), Tombstones: n.int(),
		Started: n.next(), Removed: n.next(), Fired: n.next(), Panics: n.next(), Lateness: n.histogram(),
	}
}

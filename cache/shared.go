// This file has what the shards of a cache share.

package cache

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A shared is what the shards of a cache share, and all that a shard knows of its cache. It
// has parts, and whoever needs one names it. Each is safe for concurrent use.
type shared[K comparable, V any] struct {
	// What a Get needs comes first. It never changes, except that a larger table follows
	// one that is too small, and Record sets watch.
	table  atomic.Pointer[table[K, V]]
	hasher hash.Hasher[K]
	watch  atomic.Pointer[watch[K]] // nil unless HotKeys or WhatIf is set, or Record runs
	plain  bool                     // no Idle, Refresh, Grace, OnRemove and OnRemoveSync
	simple bool                     // plain, and no weights: Set has a shorter way
	timing timing

	// shape is held for reading while all shards are walked, and for writing, only ever
	// by TryLock, to replace the table by a larger one.
	shape sync.RWMutex

	sizing    sizing[K, V]
	observers observers[K, V]
	loading   loading
	negatives keptErrors // the errors that are kept, in a cache of their own
}

// A sizing says how much the cache may hold, and how its shards divide that.
type sizing[K comparable, V any] struct {
	limit  atomic.Int64      // Limit; 0 without one, or with MaxWeight
	crowd  atomic.Int64      // shards needed for the entries, without a limit of entries
	weigh  func(K, V) uint32 // nil if entries are counted
	budget budget            // what the entries may weigh
	policy Policy            // of eviction
}

// nearLimit is the highest limit of a cache whose entries, with all that belongs to them, stay
// in the caches of a processor: a quarter of a megabyte of small ones.
const nearLimit = 4096

// isNear reports whether the entries of the cache stay in the caches of a processor. Then
// instructions take longer than memory does.
func (z *sizing[K, V]) isNear() bool {
	limit := z.limit.Load()
	return 0 < limit && limit <= nearLimit
}

// An observers is told what happens to entries: see observers.go.
type observers[K comparable, V any] struct {
	told       bool                        // the cache has OnRemove or OnRemoveSync
	runner     *runner.Runner[Event[K, V]] // of OnRemove; nil without it
	direct     *runner.Direct[Event[K, V]] // of OnRemoveSync; nil without it
	blocked    atomic.Int32                // callers that wait for OnRemove
	onPanic    func(any, []byte)           // is told of panics of callbacks
	lateness   stats.DurationRecorder      // of removals by the wheel
	evictedAge *stats.AgeRecorder          // nil unless ages of values are kept
}

// A loading has what loads need of their cache, and counts them.
type loading struct {
	timeout  time.Duration             // of a load; 0: none
	permits  permits                   // for loads: MaxLoads
	negative func(error) time.Duration // how long to keep an error; nil: none

	ok, failed stats.DurationRecorder  // how long fetches took
	lastFailed atomic.Pointer[failure] // nil before the first
	waiters    atomic.Uint64           // callers that joined the load of another
	abandoned  atomic.Uint64           // callers that gave up before their load had ended
	renewals   renewals
}

// weightOf calls Weigh, if there is one.
func (z *sizing[K, V]) weightOf(key K, value V) uint32 {
	if z.weigh == nil {
		return 1
	}
	return z.weigh(key, value)
}

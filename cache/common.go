// This file has what the shards of a cache have in common.

package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A common is what the shards of a cache have in common, and all that a shard knows
// of its cache. Each of its parts is safe for concurrent use.
type common[K comparable, V any] struct {
	// What a Get needs comes first. It never changes, except that a larger table follows
	// one that is too small, and Record sets watch.
	table  atomic.Pointer[table[K, V]]
	hasher hash.Hasher[K]
	watch  atomic.Pointer[watch[K]] // nil unless HotKeys or WhatIf is set, or Record runs
	simple bool                     // no weights, Idle, Refresh, Grace, Negative and OnRemove: Set has a shorter way
	timing

	// shape is held for reading while all shards are walked, and for writing, only ever
	// by TryLock, to replace the table by a larger one.
	shape sync.RWMutex

	limit   atomic.Int64                // Limit; 0 without one, or with MaxWeight
	crowd   atomic.Int64                // shards needed for the entries, without a limit of entries
	weigh   func(K, V) uint32           // nil if entries are counted
	budget  budget                      // what the entries may weigh
	runner  *runner.Runner[Event[K, V]] // nil without OnRemove
	onPanic func(any, []byte)           // is told of panics of callbacks
	policy  Policy                      // of eviction
	ages    bool                        // the ages of values are kept

	abandoned atomic.Uint64 // callers that gave up before their load had ended
	timeout   time.Duration // of a load; 0: none
	permits   permits

	renewals renewals

	negative  func(error) time.Duration // how long to keep an error; nil: none
	negatives keptErrors                // those that are kept; nil without negative

	lateness   stats.DurationRecorder
	evictedAge stats.AgeRecorder
}

// weightOf calls Weigh, if there is one.
func (c *common[K, V]) weightOf(key K, value V) uint32 {
	if c.weigh == nil {
		return 1
	}
	return c.weigh(key, value)
}

// settle waits, if the caller has queued events for OnRemove, while there are too many
// of them. No lock may be held.
func (c *common[K, V]) settle(reported bool) {
	if reported {
		c.waitForRunner()
	}
}

func (c *common[K, V]) waitForRunner() {
	_ = c.runner.Wait(context.Background()) // fails only when its context ends
}

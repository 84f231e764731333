// This file has what all shards of a cache share: options, clock, budget, and the table of shards.

package cache

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/troubles"
	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// common has what all shards of a cache share. A shard knows nothing else of its cache. Each of its
// parts is safe for concurrent use.
type common[K comparable, V any] struct {
	// What a Get needs comes first. It changes only when a larger table replaces a smaller one,
	// and when Record sets watch.
	table  atomic.Pointer[table[K, V]]
	hasher hash.Hasher[K]
	watch  atomic.Pointer[watch[K]] // nil unless HotKeys or WhatIf is set, or Record runs
	simple bool                     // without weights, ExpireBy, Idle, Refresh, Grace, Negative and OnRemove: Set is shorter then
	ages   bool                     // the ages of values are kept
	time   timing

	// shape is held for reading while all shards are visited, but not while a walk calls
	// functions of the user; and for writing, only ever by TryLock, to divide a shard.
	shape sync.RWMutex

	negatives keptErrors               // nil without Negative
	expireBy  func(K, V) time.Duration // the option ExpireBy

	size      sizing[K, V]
	loads     loading
	inTrouble atomic.Pointer[troubles.Keys[K]]
	observers observers[K, V]
}

// observers holds the callbacks of the program, and the recorders of what is measured of entries.
type observers[K comparable, V any] struct {
	runner     *runner.Runner[Event[K, V]] // nil without OnRemove
	onPanic    func(any, []byte)           // is told of panics of callbacks
	lateness   histogram.DurationRecorder
	evictedAge histogram.AgeRecorder
}

func (o *observers[K, V]) init(options Options[K, V]) {
	if o.onPanic = options.OnPanic; o.onPanic == nil {
		o.onPanic = logPanic
	}
	if options.OnRemove != nil {
		workers := cmp.Or(options.Workers, runtime.GOMAXPROCS(0))
		o.runner = runner.New(workers, backlog, options.OnRemove, o.onPanic)
	}
}

// logPanic logs a panic of OnRemove if there is no OnPanic.
func logPanic(recovered any, stack []byte) {
	slog.Error("cache: a callback panicked", "panic", recovered, "stack", string(stack))
}

// settle waits while too many events wait for OnRemove, if the caller has queued some. No lock
// may be held.
func (o *observers[K, V]) settle(reported bool) {
	if reported {
		o.waitForRunner()
	}
}

func (o *observers[K, V]) waitForRunner() {
	_ = o.runner.Wait(context.Background()) // fails only when its context ends
}

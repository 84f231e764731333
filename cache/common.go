// This file has what the shards of a cache have in common.

package cache

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
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
	time   timing

	// shape is held for reading while all shards are visited, but not while a walk calls
	// functions of the user; and for writing, only ever by TryLock, to divide a shard.
	shape sync.RWMutex

	negatives keptErrors // nil without Negative

	size      sizing[K, V]
	loads     loading
	observers observers[K, V]
}

// observers holds the callbacks of the program, and the recorders of what is measured of entries.
type observers[K comparable, V any] struct {
	runner     *runner.Runner[Event[K, V]] // nil without OnRemove
	onPanic    func(any, []byte)           // is told of panics of callbacks
	ages       bool                        // the ages of values are kept
	lateness   histogram.DurationRecorder
	evictedAge histogram.AgeRecorder
}

func (o *observers[K, V]) init(options Options[K, V]) {
	o.ages = options.Ages
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

// settle waits, if the caller has queued events for OnRemove, while there are too many
// of them. No lock may be held.
func (o *observers[K, V]) settle(reported bool) {
	if reported {
		o.waitForRunner()
	}
}

func (o *observers[K, V]) waitForRunner() {
	_ = o.runner.Wait(context.Background()) // fails only when its context ends
}

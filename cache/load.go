// This file has the load of a key: what it loads, the flight that its callers share, its place among
// the loads of its shard, and its result. What is true of all loads of a cache is in loading.go.

package cache

import (
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/flight"
)

// A Load tells the function that loads a key about the old value, and the cache about the new one. The
// function must not use it after it has returned.
type Load[V any] struct {
	// Old is the value that the load renews, if HasOld: one that is due, in Grace, or that
	// [Cache.Refresh] loads again.
	Old    V
	HasOld bool

	// Expire is the TTL of the new value, of any length. It is that of the options, unless
	// the function changes it. Jitter applies. 0 means for ever, or with ExpireBy what that says. With
	// a negative TTL the value goes to the callers and is not stored, and Old is removed.
	Expire time.Duration

	// Unchanged says that Old is still right: it stays, with a new TTL, and the callers
	// get it. The value that the function returns is ignored, and OnRemove is told
	// nothing. It is an error without Old.
	Unchanged bool

	// NotFound says that the function's error means that there is no value: the statistics
	// count the load as successful. Without an error it has no effect.
	NotFound bool

	// Gone says that there is no value any more where it was loaded from: Old leaves the cache, with
	// cause Deleted, and does not stand in. The callers get the function's error, or else
	// [ErrNotFound], which Negative may keep; those of several keys leave the key out, without an
	// error. The statistics count the load as successful.
	Gone bool

	// Err is the error of this key, from a function that loads several keys. One that loads a single
	// key returns its error instead.
	Err error
}

// A load is a fetch of a key that callers share, like a call of package singleflight.
type load[K comparable, V any] struct {
	common *common[K, V]
	ident[K]
	flight  *flight.Flight // the context of the fetch, which counts the callers; one for all of a batch
	batch   []*load[K, V]  // in the first load of a batch: all loads of it
	tries   int            // renewals of the value in a row that have failed before
	retryIn time.Duration  // the pause after a renewal that failed, by RetryAfter; 0: the usual one
	member  bool           // of a batch, and not its first load: it ends with the first
	gathers bool           // it is the first of a batch that others may join until it runs: see gather.go
	blamed  atomic.Bool    // its failure is among the troubles already
	place[K, V]
	Load[V] // what the fetch is told, and tells
	result[V]
}

// An ident says what is loaded, and since when.
type ident[K comparable] struct {
	key   K
	hash  uint64
	began int64 // by the clock of the cache
}

// A place is that of a load among those of its shard, whose lock guards it. Only unshared and renewal
// never change.
type place[K comparable, V any] struct {
	unshared bool            // the load is not in its shard: the result is for one caller and not stored
	renewal  bool            // the key had a value: see renewal.go
	stale    bool            // the key was changed since: the result is not stored, and nobody joins
	unkept   bool            // all its callers ask by NoStore for a result that is not stored
	evicted  bool            // the entry was evicted since: the result is stored only if a caller waits
	beside   bool            // it was begun beside a load that was doubted
	filtered uint8           // how many filters it has had, also those asked already
	filters  []*filter[K, V] // of DelFunc, asked before the value is stored
	done     chan struct{}   // closed when the result is there; nil while nobody waits
	newer    *load[K, V]     // neighbour in its list of loads; nil for the newest
	older    *load[K, V]     // likewise; nil for the oldest
}

// A result is what a fetch has brought. The goroutine of the load writes it; others read it when done is
// closed.
type result[V any] struct {
	value    V // that of a renewal is Old until there is a result
	err      error
	how      outcome
	deadline int64 // of the value, 0 if it was not stored
	due      int64 // the word of due, if it was stored
	absent   bool  // the function of a TakeMany has left the key out: other callers load it themselves
	ofBatch  bool  // err is that of a whole batch, which says nothing about a single key
	timedOut bool  // err is a time-out
	ended    int64 // when the fetch ended, by the clock of the cache
	weight   uint32
	keepErr  time.Duration // how long Negative keeps err; 0: not at all
	pause    bool          // err is kept, and yet means that the load has failed: see isPause
}

// An outcome is how a fetch ended.
type outcome uint8

const (
	exited outcome = iota // by Goexit: it neither returned nor panicked
	returned
	panicked
)

// replaces makes l, which is about to begin, a renewal of a value.
func (l *load[K, V]) replaces(old V) {
	l.renewal = true
	l.Old, l.HasOld, l.value = old, true, old
}

// members returns the other loads of the batch whose first load is l.
func (l *load[K, V]) members() []*load[K, V] {
	if len(l.batch) == 0 {
		return nil
	}
	return l.batch[1:]
}

// makeDone makes the channel on which callers wait for the load.
func (l *load[K, V]) makeDone() {
	if l.done == nil {
		l.done = make(chan struct{})
	}
}

// publish hands the result to the callers that wait for the load. Nobody can join it any
// more. The flight ends when all loads that share it are published.
func (l *load[K, V]) publish() {
	if l.done != nil {
		close(l.done)
	}
}

// keep makes the result be stored, though the caller that began the load asked for the contrary.
func (l *load[K, V]) keep() { l.unkept = false }

// isKept reports whether the result is to be stored.
func (l *load[K, V]) isKept() bool { return !l.unkept }

// fail makes err, which says nothing about a single key, the result of l and of all other
// loads of its batch.
func (l *load[K, V]) fail(err error) {
	var none V
	l.value, l.err, l.keepErr, l.absent, l.ofBatch = none, err, 0, false, true
	l.NotFound, l.Gone, l.timedOut = false, false, false
	for _, mate := range l.members() {
		mate.fail(err)
	}
}

// reuse keeps the load of a plain Take, which has ended, as spare for the next load of its shard. It
// does not if a caller that waited for the load may still use it.
func (c *common[K, V]) reuse(l *load[K, V]) {
	if l.done != nil || l.how != returned {
		return
	}
	p, f := &c.shardOf(l.hash).pending, l.flight
	*f = flight.Flight{}
	*l = load[K, V]{} // a literal with the flight would be made beside l and copied
	l.flight = f
	p.keepSpare(l)
}

// newSoleLoad returns a load with a flight of its own, in one allocation.
func newSoleLoad[K comparable, V any]() *load[K, V] {
	both := new(struct {
		load   load[K, V]
		flight flight.Flight
	})
	both.load.flight = &both.flight
	return &both.load
}

// This file makes and ends a cache.

package cache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/cache/internal/ghost"
	"github.com/pinwheel-cache/pinwheel/cache/internal/keytext"
	"github.com/pinwheel-cache/pinwheel/cache/internal/slowkeys"
	"github.com/pinwheel-cache/pinwheel/internal/bubble"
	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/internal/hotkeys"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
	"github.com/pinwheel-cache/pinwheel/lru"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Cache keeps values by key, up to a limit and for a limited time. Make one with [New].
// All its methods are safe for concurrent use, and none holds a lock while it calls a
// function of the program.
type Cache[K comparable, V any] struct {
	shared shared[K, V] // with the shards

	resizing  sync.Mutex  // one Resize at a time, so that the shards agree
	name      string      // in the statistics
	recording atomic.Bool // by Record: one at a time

	fetch     fetcher[K, V] // by the loader of the options; nil without one
	fetchMany fetcher[K, V] // likewise, by LoadMany

	amend      func(*stats.Snapshot) // or nil
	schema     string                // of snapshots
	saving     chan struct{}         // the place of the one SaveFile that may run
	unregister func()
	elastic    *elastic // nil without the option
}

// New returns an empty cache. An error wraps [ErrArgument] and says everything that is
// wrong with the options.
//
// A cache has no goroutine until the first call of OnRemove, and none while nothing
// expires and no call runs. A goroutine that has run a load waits for another one of any cache for
// a tenth of a second at most, not in a bubble of testing/synctest.
//
// A cache that nobody holds any more is collected, closed or not. A cache with OnRemove is
// collected later: when OnRemove was called for all entries that wait to expire.
func New[K comparable, V any](o Options[K, V]) (*Cache[K, V], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := build(o)
	if !o.Unlisted {
		c.register(o)
	}
	if o.Elastic && !bubble.Inside() {
		c.yields(o.MaxWeight)
	}
	return c, nil
}

// build is New without a check of the options, and without the statistics.
func build[K comparable, V any](o Options[K, V]) *Cache[K, V] {
	c := &Cache[K, V]{schema: o.Schema, amend: o.Amend, saving: make(chan struct{}, 1), unregister: func() {}}
	c.setLoader(o)
	c.shared.hasher = hash.New[K]()
	c.shared.watch.Store(newWatch(o))

	sizing := &c.shared.sizing
	sizing.weigh, sizing.policy = o.Weigh, o.Policy
	sizing.budget.max.Store(max(o.MaxWeight, uint64(o.Limit)))
	sizing.limit.Store(int64(o.Limit))

	timing := &c.shared.timing
	timing.init(o.Expire, o.Idle, o.Jitter)
	timing.refresh, timing.grace, timing.patience = o.Refresh, o.Grace, o.Patience
	timing.refreshAfter, timing.pauses = o.RefreshAfter, o.pauses()
	timing.renews = o.Refresh > 0 || o.RefreshAfter > 0 || o.Grace > 0
	timing.driver.gate.init()

	loading := &c.shared.loading
	loading.timeout, loading.negative = o.Timeout, o.Negative
	c.shared.negatives = newKeptErrors(o.Limit, o.Jitter)
	loading.permits.init(o.MaxLoads)

	observers := &c.shared.observers
	if o.Ages {
		observers.evictedAge = new(stats.AgeRecorder)
	}
	if observers.onPanic = o.OnPanic; observers.onPanic == nil {
		observers.onPanic = logPanic
	}
	if o.OnRemove != nil {
		observers.runner = newRunner(o, observers.onPanic)
	}
	if o.OnRemoveSync != nil {
		observers.direct = runner.NewDirect(o.OnRemoveSync, observers.onPanic)
	}
	observers.told = observers.runner != nil || observers.direct != nil

	c.shared.initDriver(observers.told)
	c.initTable(1)
	c.shared.plain = timing.idle == 0 && !timing.renews && !observers.told
	c.shared.simple = c.shared.plain && sizing.weigh == nil
	return c
}

// Must is [New] for options that are known to be valid: it panics where New returns an
// error.
func Must[K comparable, V any](o Options[K, V]) *Cache[K, V] {
	c, err := New(o)
	if err != nil {
		panic(err)
	}
	return c
}

// initTable makes the first table, of n shards.
func (c *Cache[K, V]) initTable(n int) {
	t := c.shared.newTable(n)
	for i := range t.shards {
		s := &t.shards[i]
		s.noted = c.shared.watch.Load() != nil || c.shared.observers.evictedAge != nil
		s.setLimited(c.shared.sizing.budget.max.Load() > 0)
	}
	c.shared.table.Store(t)
}

// newRunner returns the runner that calls OnRemove.
func newRunner[K comparable, V any](o Options[K, V], onPanic func(any, []byte)) *runner.Runner[Event[K, V]] {
	return runner.New(o.workers(), backlog, o.OnRemove, onPanic)
}

// backlog is how many events may wait for OnRemove before removers wait.
const backlog = 4096

// logPanic logs a panic of OnRemove if there is no OnPanic.
func logPanic(recovered any, stack []byte) {
	slog.Error("cache: a callback panicked", "panic", recovered, "stack", string(stack))
}

// Len returns the number of entries, which never exceeds the limit. It may count entries
// that expired within the last tick, or earlier if OnRemove is behind.
func (c *Cache[K, V]) Len() int {
	if c.shared.sizing.limit.Load() > 0 {
		// One number, as a sum over shards that change could exceed the limit. But it
		// is not the number of entries once a Resize to no limit has begun.
		if n := c.shared.sizing.budget.used.Load(); c.shared.sizing.limit.Load() > 0 {
			return int(n)
		}
	}
	n := 0
	shards := c.shared.all()
	defer c.shared.release()
	for i := range shards {
		s := &shards[i]
		r := s.lock.RLock()
		n += s.len
		s.lock.RUnlock(r)
	}
	return n
}

// errClosed is the cause with which loads in the background end when the cache is closed.
var errClosed = errors.New("cache: the cache is closed")

// errCallback is what Close returns to OnRemove.
var errCallback = errors.New("cache: Close called by OnRemove: the cache is closed, but a callback cannot wait for callbacks to end")

// errInLoad is what Close returns to a function that a load calls.
var errInLoad = errors.New("cache: Close called by a fetch, or by Weigh, Negative or a function of DelFunc for a load: the cache is closed, but they cannot wait for loads and callbacks to end")

// Wait waits until no call of OnRemove is queued or running. If ctx ends first, it
// returns the cause of ctx. While others go on removing values, Wait may never return
// otherwise. Called by OnRemove, of this cache or another, it returns an error instead of
// waiting.
func (c *Cache[K, V]) Wait(ctx context.Context) error {
	checkContext(ctx, "Wait")
	if c.shared.observers.told && runner.InCallback() {
		return errors.New("cache: Wait called by OnRemove: a callback cannot wait for callbacks to end")
	}
	return c.shared.observers.drain(ctx)
}

// Closed reports whether Close has been called.
func (c *Cache[K, V]) Closed() bool { return c.shared.timing.driver.gate.closed.Load() }

// Close empties the cache, with Cleared for OnRemove, ends the contexts of loads in the
// background, and waits until all loads and all calls of OnRemove have ended. If ctx ends
// first, Close returns the cause of ctx. Close may be called again, to go on waiting.
//
// A closed cache stays empty and can be used: Get finds nothing, Set stores
// nothing and reports nothing, and Take calls fetch for each of its callers. So a
// service that is shutting down needs no special case. The cache is gone from
// the statistics of the process, and its name is free.
//
// Called by OnRemove, of this cache or another, Close closes the cache, but
// returns an error instead of waiting, as two caches could wait for each other.
// So it does if loads or calls of OnRemove run and a fetch calls it, or another function
// that a load calls. From a goroutine that such a function starts and waits for, Close waits
// for the load.
func (c *Cache[K, V]) Close(ctx context.Context) error {
	checkContext(ctx, "Close")
	c.shared.timing.driver.mustStopHere()
	c.shared.timing.driver.gate.close()
	c.shared.timing.driver.stop()
	c.unregister()
	c.shared.watch.Load().closed()
	shards := c.shared.all()
	defer c.shared.release()
	var loads []*load[K, V]
	var owed debt[K, V] // a queued event takes no more memory than its entry did
	for i := range shards {
		s := &shards[i]
		loads = s.close(loads)
		if !s.drop() {
			s.clear(owed.add)
		}
	}
	c.shared.negatives.close()
	c.shared.observers.tell(owed) // but not wait for OnRemove: Close must return when ctx ends
	switch {
	case c.shared.observers.told && runner.InCallback():
		return errCallback
	case (len(loads) > 0 || c.shared.observers.calling()) && runner.InLoad():
		return errInLoad
	}
	if err := c.shared.timing.driver.gate.wait(ctx); err != nil {
		return err
	}
	if err := waitForAll(ctx, loads); err != nil {
		return err
	}
	return c.shared.observers.drain(ctx)
}

// close keeps the shard from beginning shared loads. It appends those under way to dst, and
// ends the contexts of those in the background.
func (s *shard[K, V]) close(dst []*load[K, V]) []*load[K, V] {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.closed = true
	for l := range s.allLoads() {
		l.makeDone()
		if l.flight.kept {
			l.flight.end(context.Canceled, errClosed)
		}
		dst = append(dst, l)
	}
	return dst
}

// waitForAll waits until loads have ended. If ctx ends first, it returns the cause of ctx.
func waitForAll[K comparable, V any](ctx context.Context, loads []*load[K, V]) error {
	for _, l := range loads {
		select {
		case <-l.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// newWatch returns nil if no option needs a watch.
func newWatch[K comparable, V any](o Options[K, V]) *watch[K] {
	if o.HotKeys == 0 && !o.WhatIf {
		return nil
	}
	w := new(watch[K])
	if o.HotKeys > 0 {
		w.long = keytext.Longer[K](longKey)
		w.hot = hotkeys.New(o.HotKeys, w.long)
		w.slow = new(slowkeys.Keys[K])
	}
	if o.WhatIf {
		w.ghosts = newGhosts(o.Limit, o.Policy)
	}
	return w
}

func newGhosts(limit int, p Policy) *ghost.Ghosts {
	return ghost.New(limit,
		func() lru.Policy { return newOrder(p) },
		func() lru.Policy { return newOrder(p.other()) })
}

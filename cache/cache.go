// This file has the Cache, and how it is made.

package cache

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Cache keeps values by key, up to a limit and for a limited time. Make one with [New].
// All its methods are safe for concurrent use, and none holds a lock while it calls a
// function of the program.
type Cache[K comparable, V any] struct {
	common common[K, V]

	resizing  sync.Mutex  // one Resize at a time, so that the shards agree
	name      string      // in the statistics
	recording atomic.Bool // by Record: one at a time
	gate      gate

	loadsOK, loadsFailed stats.DurationRecorder
	lastFailed           atomic.Pointer[failure]
	waiters              atomic.Uint64
	amend                func(*stats.Snapshot) // or nil
	schema               string                // of snapshots
	saving               *semaphore.Weighted   // one SaveFile at a time
	unregister           func()
}

// New returns an empty cache. An error wraps [ErrArgument] and says everything that is
// wrong with the options.
//
// A cache has no goroutine while nothing expires, and no load and no call of OnRemove
// runs. A cache that nobody holds any more is collected, whether or
// not it was closed; one with OnRemove, after OnRemove was called for all entries that
// wait to expire.
//
// A cache that is used in a bubble of testing/synctest must be made in it. One that was made
// outside panics there instead of storing what would never expire.
func New[K comparable, V any](o Options[K, V]) (*Cache[K, V], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := build(o)
	c.register(o)
	return c, nil
}

// build is New without a check of the options, and without the statistics.
func build[K comparable, V any](o Options[K, V]) *Cache[K, V] {
	c := &Cache[K, V]{saving: semaphore.NewWeighted(1), unregister: func() {}, common: common[K, V]{
		hasher: hash.New[K](),
		weigh:  o.Weigh,
		policy: o.Policy,
		ages:   o.Ages,

		negative: o.Negative,
	}}
	if o.Negative != nil {
		c.common.negatives = newKeptErrors(o.Limit, o.Jitter)
	}
	c.common.watch.Store(newWatch(o))
	c.common.timeout = o.Timeout
	c.common.permits.init(o.MaxLoads)
	c.common.timing.init(o.Expire, o.Idle, o.Jitter)
	c.common.refresh, c.common.grace, c.common.patience = o.Refresh, o.Grace, o.Patience
	c.common.renews = o.Refresh > 0 || o.Grace > 0
	c.common.budget.max.Store(max(o.MaxWeight, uint64(o.Limit)))
	c.common.limit.Store(int64(o.Limit))
	c.gate.init()
	if c.common.onPanic = o.OnPanic; c.common.onPanic == nil {
		c.common.onPanic = logPanic
	}
	c.initDriver(o.OnRemove != nil)
	c.initTable(1)
	if o.OnRemove != nil {
		c.common.runner = newRunner(o, c.common.onPanic)
	}
	c.schema, c.amend = o.Schema, o.Amend
	c.common.simple = c.common.weigh == nil && c.common.idle == 0 && !c.common.renews && c.common.runner == nil && c.common.negatives == nil
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
	t := c.common.newTable(n)
	for i := range t.shards {
		s := &t.shards[i]
		s.noted = c.common.watch.Load() != nil || c.common.ages
		s.setLimited(c.common.budget.max.Load() > 0)
	}
	c.common.table.Store(t)
}

// newRunner returns the runner that calls OnRemove.
func newRunner[K comparable, V any](o Options[K, V], onPanic func(any, []byte)) *runner.Runner[Event[K, V]] {
	workers := o.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return runner.New(workers, backlog, o.OnRemove, onPanic)
}

// Len returns the number of entries, which never exceeds the limit. It may count entries
// that expired within the last tick, or earlier if OnRemove is behind.
func (c *Cache[K, V]) Len() int {
	if c.common.limit.Load() > 0 {
		// One number, as a sum over shards that change could exceed the limit. But it
		// is not the number of entries once a Resize to no limit has begun.
		if n := c.common.budget.used.Load(); c.common.limit.Load() > 0 {
			return int(n)
		}
	}
	n := 0
	shards := c.common.all()
	defer c.common.release()
	for i := range shards {
		s := &shards[i]
		r := s.lock.RLock()
		n += s.len
		s.lock.RUnlock(r)
	}
	return n
}

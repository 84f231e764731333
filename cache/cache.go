// This file has the Cache, and how New makes one. A stored value is in a shard: see shard.go.

package cache

import (
	"cmp"
	"sync/atomic"
	"weak"

	"golang.org/x/sync/semaphore"

	"github.com/pinwheel-cache/pinwheel/internal/base"
	"github.com/pinwheel-cache/pinwheel/internal/hash"
)

// A Cache keeps values by key, up to a limit and for a limited time. Make one with [New].
// All its methods are safe for concurrent use. While one calls a function of the program, it
// holds no lock; only SaveFile makes other calls of SaveFile wait.
type Cache[K comparable, V any] struct {
	common common[K, V]

	*apart
	recording atomic.Bool // Record runs; a second one is refused
	gate      gate

	loaders    *loaders[K, V]                     // nil without the options Load and LoadMany
	owner      atomic.Pointer[base.Owner]         // nil without For(c).Amend
	schema     string                             // of snapshots
	saving     atomic.Pointer[semaphore.Weighted] // held by SaveFile: others wait; nil before the first
	unregister func()
}

// apart has what is rarely used, as a Cache with all else fills a block of the allocator.
type apart struct {
	ceiling ceiling
	tuner   tuner
}

// New returns an empty cache. An error wraps [ErrArgument] and says everything that is
// wrong with the options.
//
// A cache has goroutines only while entries expire, while loads or calls of OnRemove run, and while
// Elastic changes the limit.
// The garbage collector frees a cache that nobody refers to, whether or not it was closed. It
// frees one with OnRemove only after OnRemove was called for all entries with a deadline.
//
// A cache that is used in a bubble of testing/synctest must be made in it. Otherwise it panics
// there rather than store a value that would never expire.
func New[K comparable, V any](o Options[K, V]) (*Cache[K, V], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := build(o)
	c.register(o)
	if o.Elastic {
		makeElastic(c)
	}
	return c, nil
}

// build is New without a check of the options, and without the statistics.
func build[K comparable, V any](o Options[K, V]) *Cache[K, V] {
	c := &Cache[K, V]{unregister: func() {}, schema: o.Schema, loaders: loadersOf(&o)}
	c.gate.init()
	m := &c.common
	m.hasher = hash.New[K]()
	m.watch.Store(newWatch(o))
	m.time.init(o.Expire, o.Idle, o.Jitter)
	m.time.initRenewal(o.Refresh, o.RefreshAfter, o.Grace, o.Patience, o.RetryAfter)
	w := weak.Make(c)
	var hold *anchor
	if o.OnRemove != nil {
		hold = &anchor{find: func() any { return w.Value() }}
	}
	m.time.driver.init(func() {
		if c := w.Value(); c != nil {
			c.tickNow()
		}
	}, hold)
	m.size.init(o)
	c.apart = &apart{ceiling: ceiling{most: m.size.budget.max.Load()}}
	m.loads.init(cmp.Or(o.Name, "cache"), o.Timeout, o.MaxLoads)
	if o.Negative != nil {
		m.loads.negative, m.negatives = o.Negative, newKeptErrors(o.Limit, o.Jitter)
	}
	if o.ExpireBy != nil {
		m.expireBy = o.ExpireBy
		m.time.expireAfter.set(ttlByValue)
	}
	m.ages = o.Ages
	m.observers.init(o)
	m.simple = m.size.weigh == nil && m.time.idle == 0 && !m.time.renews && m.observers.runner == nil && m.negatives == nil && m.expireBy == nil
	c.initTable(1)
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
		s.setLimited(c.common.size.budget.max.Load() > 0)
	}
	c.common.table.Store(t)
}

// Len returns the number of entries, which never exceeds the limit. It also counts entries that
// have expired but are not removed yet: for up to a tick, or longer if OnRemove is behind.
func (c *Cache[K, V]) Len() int {
	if c.common.size.limit.Load() > 0 {
		// One number, as a sum over shards that change could exceed the limit. But it
		// is not the number of entries once a Resize to no limit has begun.
		if n := c.common.size.budget.used.Load(); c.common.size.limit.Load() > 0 {
			return int(n)
		}
	}
	if b := c.common.size.counts; b != nil {
		return int(b.used.Load())
	}
	n := 0
	for s := range c.common.all() {
		r := s.lock.RLock()
		n += s.slots.len
		s.lock.RUnlock(r)
	}
	return n
}

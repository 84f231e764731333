// This file has Resize and ResizeWeight, which change the limit, and Limit.

package cache

import (
	"cmp"
	"math"
	"sync"
)

// A ceiling is the limit that the program has set, in entries or in weight, or 0. With Elastic the limit may be lower.
type ceiling struct {
	resizing sync.Mutex // held by who changes the limit: two at a time could give shards different limits
	most     uint64     // guarded by resizing
}

// Resize changes the limit of the cache to limit entries, or to none if limit
// is 0. If there are more entries than that, it evicts the surplus before it
// returns. For a negative limit, and for a cache that has a MaxWeight and no Limit, which is for
// ResizeWeight, it returns an error that wraps [ErrArgument].
//
// With a larger limit, the next writes give the cache as many shards as it needs. With a smaller
// limit the cache keeps its shards.
func (c *Cache[K, V]) Resize(limit int) error {
	b := c.common.size.counts
	if c.common.size.weigh != nil && b == nil {
		return wrongArgument("Resize(%d) of a cache with MaxWeight and no Limit: want ResizeWeight", limit)
	}
	if limit < 0 || limit > math.MaxInt32 {
		return wrongArgument("Resize(%d): want a limit from 1 to %d, or 0 for none", limit, math.MaxInt32)
	}
	if b != nil {
		b.max.Store(cmp.Or(uint64(limit), noCount))
		c.common.resizeNegatives(limit)
		c.evictSurplus()
		return nil
	}
	c.setMost(uint64(limit))
	return nil
}

// ResizeWeight changes the MaxWeight of the cache. If its entries weigh more than that,
// it evicts some before it returns. For 0, and for a cache without a MaxWeight, it
// returns an error that wraps [ErrArgument].
func (c *Cache[K, V]) ResizeWeight(maxWeight uint64) error {
	if c.common.size.weigh == nil {
		return wrongArgument("ResizeWeight(%d) of a cache without MaxWeight: want Resize, or options with Weigh", maxWeight)
	}
	if maxWeight == 0 {
		return wrongArgument("ResizeWeight(0): want at least 1")
	}
	c.setMost(maxWeight)
	return nil
}

// Limit returns the limit in entries, and that in weight. 0 means that there is none.
func (c *Cache[K, V]) Limit() (entries int, weight uint64) {
	if c.common.size.weigh == nil {
		return int(c.common.size.limit.Load()), 0
	}
	if b := c.common.size.counts; b != nil && b.max.Load() < noCount {
		entries = int(b.max.Load())
	}
	return entries, c.common.size.budget.max.Load()
}

// noCount is the most entries of a cache with both limits after Resize(0).
const noCount = math.MaxUint64

// setMost changes the limit for good, and evicts the surplus.
func (c *Cache[K, V]) setMost(limit uint64) {
	c.ceiling.resizing.Lock()
	c.ceiling.most = limit
	c.limitTo(limit)
	c.ceiling.resizing.Unlock()
	if limit > 0 {
		c.evictSurplus()
	}
}

// limitTo sets the limit of the cache, in entries or in weight, and of its shards, but evicts nothing. resizing
// must be held.
func (c *Cache[K, V]) limitTo(limit uint64) {
	if c.common.size.weigh != nil {
		c.common.size.budget.max.Store(limit)
		c.common.growOn()
		return
	}
	if limit == 0 {
		c.common.size.limit.Store(0) // first: from now on budget.used is not the number of entries
	} else {
		c.common.size.budget.max.Store(limit)
	}
	for s := range c.common.all() {
		s.setLimited(limit > 0)
	}
	c.common.size.limit.Store(int64(limit))
	c.common.growOn()
	c.common.watch.Load().resized(int(limit))
	c.common.resizeNegatives(int(limit))
}

// evictSurplus evicts entries of all shards, at most perHold in one hold of a lock, until the budget is
// no longer exceeded.
func (c *Cache[K, V]) evictSurplus() {
	for surplus := c.common.size.surplus(); surplus > 0; surplus = c.common.size.surplus() {
		each := int(min(surplus/uint64(len(c.common.table.Load().shards))+1, perHold))
		for s := range c.common.all() {
			c.common.observers.settle(s.evictSurplus(each))
		}
	}
}

// setLimited says whether the entries of the shard count against the budget. When it lifts the limit,
// the eviction order stays, for the next limit.
func (s *shard[K, V]) setLimited(limited bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.limited == limited {
		return
	}
	s.limited = limited
	if !limited {
		s.common.size.budget.release(uint64(s.slots.len))
		return
	}
	s.common.size.budget.used.Add(uint64(s.slots.len))
	s.makeOrder()
}

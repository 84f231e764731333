// This file changes the limit of a cache: Resize and ResizeWeight.

package cache

import "math"

// Resize changes the limit of the cache to limit entries, or to none if limit
// is 0. If there are more entries than that, it evicts the surplus before it
// returns. For a negative limit, and for a cache that has a MaxWeight, which is for
// ResizeWeight, it returns an error that wraps [ErrArgument].
//
// With a larger limit, the next writes give the cache as many shards as it needs, unless a
// walk is under way. With a smaller limit the cache keeps its shards.
func (c *Cache[K, V]) Resize(limit int) error {
	if c.shared.sizing.weigh != nil {
		return wrongArgument("Resize(%d) of a cache with MaxWeight: want ResizeWeight", limit)
	}
	if limit < 0 || limit > math.MaxInt32 {
		return wrongArgument("Resize(%d): want a limit from 1 to %d, or 0 for none", limit, math.MaxInt32)
	}
	c.setLimit(limit)
	if limit > 0 {
		c.evictSurplus()
	}
	return nil
}

// ResizeWeight changes the MaxWeight of the cache. If its entries weigh more than that,
// it evicts some before it returns. With Elastic it may be less again after the next cycle of
// the garbage collector. For 0, and for a cache without a MaxWeight, it
// returns an error that wraps [ErrArgument].
func (c *Cache[K, V]) ResizeWeight(maxWeight uint64) error {
	if c.shared.sizing.weigh == nil {
		return wrongArgument("ResizeWeight(%d) of a cache without MaxWeight: want Resize, or options with Weigh", maxWeight)
	}
	if maxWeight == 0 {
		return wrongArgument("ResizeWeight(0): want at least 1")
	}
	c.setMaxWeight(maxWeight)
	c.keepMaxWeight()
	return nil
}

// setMaxWeight sets the limit of a cache that weighs, but evicts nothing.
func (c *Cache[K, V]) setMaxWeight(n uint64) {
	if e := c.elastic; e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.most = n
	}
	c.shared.sizing.budget.max.Store(n)
}

// keepMaxWeight gives the cache the shards for its new limit, and evicts the surplus. It waits
// for OnRemove, which may change the limit again.
func (c *Cache[K, V]) keepMaxWeight() {
	c.shared.growOn()
	c.evictSurplus()
}

// evictSurplus evicts entries of all shards, a batch at a time, until the budget is kept.
func (c *Cache[K, V]) evictSurplus() {
	for surplus := c.shared.sizing.budget.surplus(); surplus > 0; surplus = c.shared.sizing.budget.surplus() {
		c.evictSome(surplus)
	}
}

// evictSome evicts entries of all shards, a batch of each at most, while there is a surplus.
func (c *Cache[K, V]) evictSome(surplus uint64) {
	shards := c.shared.all()
	defer c.shared.release()
	each := int(min(surplus/uint64(len(shards))+1, batch))
	for i := range shards {
		c.shared.observers.settle(shards[i].evictSurplus(each))
	}
}

// setLimit sets the limit of the cache and of its shards, but evicts nothing.
func (c *Cache[K, V]) setLimit(limit int) {
	c.resizing.Lock()
	defer c.resizing.Unlock()
	if limit == 0 {
		c.shared.sizing.limit.Store(0) // first: from now on budget.used is not the number of entries
	} else {
		c.shared.sizing.budget.max.Store(uint64(limit))
	}
	shards := c.shared.all()
	for i := range shards {
		shards[i].setLimited(limit > 0)
	}
	c.shared.sizing.limit.Store(int64(limit))
	c.shared.release()
	c.shared.growOn()
	c.shared.watch.Load().resized(limit)
	c.shared.negatives.resize(limit)
}

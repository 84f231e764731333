// This file has the budget: how many entries there may be, or what they may weigh together.

package cache

import (
	"sync"
	"sync/atomic"
)

// A budget limits what the entries of all shards weigh together. In a cache with a
// Limit every entry weighs 1; one with both limits has a second budget, in which it does. There is one budget for the whole cache and not a part
// for each shard, so that the limit is exact however keys spread, and a value may weigh
// as much as the cache may hold.
//
// A full cache that stores and evicts does not write to it: the weight of the evicted
// entry goes to the new one.
//
// A caller that needs more room than one hold of a shard's lock can free locks making.
// What its evictions free, weight and an entry, stays reserved for it, so that no number of light values can
// take it. Only one caller makes room at a time, as two could each reserve a part and
// wait for the other.
type budget struct {
	max    atomic.Uint64
	used   atomic.Uint64 // above max only while Resize makes max smaller
	making sync.Mutex    // before the locks of shards
}

// reserve takes n of the budget, or returns false if less is left.
func (b *budget) reserve(n uint64) bool {
	for {
		used := b.used.Load()
		if limit := b.max.Load(); used > limit || n > limit-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// left returns how much may still be reserved.
func (b *budget) left() uint64 {
	used, limit := b.used.Load(), b.max.Load()
	return limit - min(used, limit)
}

// full reports whether nothing is left.
func (b *budget) full() bool { return b.used.Load() >= b.max.Load() }

// surplus returns what the budget is overdrawn by.
func (b *budget) surplus() uint64 {
	used, limit := b.used.Load(), b.max.Load()
	return used - min(used, limit)
}

func (b *budget) release(n uint64) {
	if n > 0 {
		b.used.Add(-n)
	}
}

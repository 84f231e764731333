// This file has the budget: what entries may weigh or number, and how a store reserves its part.

package cache

import (
	"sync"
	"sync/atomic"
)

// A budget limits what the entries of all shards weigh together. In a cache with a
// Limit every entry weighs 1. There is one budget for the whole cache and not a part
// for each shard, so that the limit is exact however keys spread, and a value may weigh
// as much as the cache may hold.
//
// A full cache that stores and evicts does not write to it: the weight of the evicted
// entry goes to the new one.
//
// A caller that needs more room than one hold of a shard's lock can free locks making.
// What its evictions free stays reserved for it, so that no number of light values can
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
		if b.lacks(n, used) {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

func (b *budget) lacks(n, used uint64) bool {
	limit := b.max.Load()
	return used > limit || n > limit-used
}

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

// reserveFor takes from the budget what the value of u needs as a new entry or, if
// found, in place of the value of entry i. While too little is left it evicts other
// entries of this shard, a batch at most. It returns what is still missing; the weight
// of the evicted entries stays reserved for u.
func (s *shard[K, V]) reserveFor(i uint32, found bool, u *update[K, V]) (missing uint64) {
	b := &s.common.budget
	need := uint64(u.weight)
	if found {
		old := uint64(s.weights[i])
		b.release(old - min(old, need))
		need -= min(old, need)
	}
	for range batch {
		if u.reserved >= need {
			b.release(u.reserved - need)
			u.reserved = 0
			return 0
		}
		if b.reserve(need - u.reserved) {
			u.reserved = 0
			return 0
		}
		if s.lean(u.hash) && (u.making || b.making.TryLock()) {
			u.making = true
			break
		}
		victim, h, ok := s.victim()
		if ok && found && victim == i {
			victim, ok = s.firstBut(i)
			h = s.hashOf(victim)
		}
		if !ok {
			break
		}
		u.reserved += s.detach(victim, h, s.causeOr(Evicted, victim))
	}
	return need - min(need, u.reserved)
}

package cache

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/lru"
)

// A budget is what the entries of all shards may weigh together. In a cache
// with a Limit every entry weighs 1. There is one budget for the whole cache and
// not a part for each shard, so that the limit is exact however keys spread, and
// a value may weigh as much as the cache may hold.
//
// A full cache that stores and evicts does not write to it: what the evicted
// entry weighed goes to the new one.
type budget struct {
	max  atomic.Uint64
	used atomic.Uint64 // above max only while Resize makes max smaller
}

// reserve takes n of the budget and reports whether there was as much.
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

// reserveFor takes weight from the budget for the value of a new entry or, if
// found, the new value of entry i. As long as there is too little it evicts
// other entries of this shard, for one that goes to a place. It returns what is missing when there are none,
// and then has reserved nothing.
func (s *shard[K, V]) reserveFor(i uint32, found bool, weight uint32, at lru.Place) (missing uint64) {
	b := &s.common.budget
	need := uint64(weight)
	if found {
		old := uint64(s.weight(i))
		if need <= old {
			b.release(old - need)
			return 0
		}
		need -= old
	}
	freed := uint64(0) // by evictions, still reserved, less than need
	for !b.reserve(need - freed) {
		victim, ok := s.victim(at)
		switch {
		case !ok, found && s.len == 1:
			b.release(freed)
			return need
		case found && victim == i:
			victim = s.firstBut(i)
		}
		freed += s.detach(victim, s.common.hasher.Hash(s.entries[victim].key), s.causeOr(Evicted, victim))
		if freed >= need {
			b.release(freed - need)
			return 0
		}
	}
	return 0
}

package cache

import "sync/atomic"

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

func (b *budget) release(n uint64) {
	if n > 0 {
		b.used.Add(-n)
	}
}

// reserveFor takes weight from the budget for the value of a new entry or, if
// found, the new value of entry i. As long as there is too little it evicts
// other entries of this shard. It returns what is missing when there are none,
// and then has reserved nothing.
func (s *shard[K, V]) reserveFor(i uint32, found bool, weight uint32) (missing uint64) {
	b := &s.cache.budget
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
		victim, ok := s.order.Victim()
		switch {
		case !ok, found && s.len == 1:
			b.release(freed)
			return need
		case found && victim == i:
			s.order.Mark(i) // to be passed over
			continue
		}
		freed += s.detach(victim, s.cache.hasher.Hash(s.entries[victim].key), s.causeOr(Evicted, victim))
		if freed >= need {
			b.release(freed - need)
			return 0
		}
	}
	return 0
}

// putWeighed is put in a cache that weighs its values, where i is the entry of the
// key if found.
func (s *shard[K, V]) putWeighed(i uint32, found bool, h uint64, key K, value V, weight uint32, l life) (missing uint64) {
	if uint64(weight) > s.cache.budget.max.Load() {
		s.refuse(i, found, h, key, value)
		return 0
	}
	if missing := s.reserveFor(i, found, weight); missing > 0 {
		return missing
	}
	if found {
		s.replace(i, h, value)
	} else {
		i = s.insert(h, key, value)
	}
	s.setLife(i, l)
	if s.noted {
		s.note(i, h, l)
	}
	s.weights[i] = weight
	s.maybeShrink() // one heavy value can drive out many
	return 0
}

// refuse is put of a value that is heavier than the whole cache may be: it
// replaces the old value, which is entry i if found, and is evicted itself.
func (s *shard[K, V]) refuse(i uint32, found bool, h uint64, key K, value V) {
	if found {
		s.remove(i, h, Replaced)
	}
	s.leave(h, &entry[K, V]{key: key, value: value}, Evicted)
}

// makeRoom evicts from other shards than that of h until the budget has n left,
// or they are empty. It reports whether settle must follow.
func (c *Cache[K, V]) makeRoom(h uint64, n uint64) (reported bool) {
	for evicted := true; evicted; {
		evicted = false
		for k := uint64(1); k <= c.mask; k++ {
			if !c.budget.lacks(n, c.budget.used.Load()) {
				return reported
			}
			s := c.shardOf(h + k<<8)
			s.lock.Lock()
			if s.evict() {
				evicted = true
				s.maybeShrink()
			}
			reported = s.unlock() || reported
		}
	}
	return reported
}

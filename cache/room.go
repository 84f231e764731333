// This file makes room for a store. In a cache with weights the shard of the key evicts, then fuller ones;
// in others it evicts for itself in store.go, and here any other shard does where it has nothing left.

package cache

import "math/rand/v2"

// reserve takes from the budget what the value of u needs as a new entry or, if
// found, in place of the value of entry i. While too little is left it evicts other
// entries of this shard, at most perHold. It returns what is still missing; the weight
// of the evicted entries stays reserved for u.
func (u *update[K, V]) reserve(s *shard[K, V], i uint32, found bool) (missing uint64) {
	b := &s.common.size.budget
	need := uint64(u.weight)
	if found {
		old := uint64(s.turn.weight(i))
		b.release(old - min(old, need))
		need -= min(old, need)
	}
	for evicted := 0; ; evicted++ {
		if u.reserved >= need {
			b.release(u.reserved - need)
			u.reserved = 0
			return 0
		}
		if b.reserve(need - u.reserved) {
			u.reserved = 0
			return 0
		}
		if evicted == perHold {
			break
		}
		if s.shouldBorrow(u.hash) && (u.making || b.making.TryLock()) {
			u.making = true
			break
		}
		victim, h, cause, ok := s.victim()
		if ok && found && victim == i {
			victim, ok = s.turn.firstBut(i)
			h, cause = s.hashOf(victim), s.causeOr(Evicted, victim)
		}
		if !ok {
			break
		}
		u.reserved += s.detach(victim, h, cause)
		s.releaseEntries(1)
	}
	return need - u.reserved
}

// reserveEntry takes an entry of those that a cache with both limits may have, when the weight of u has
// been reserved. If it must evict another one, that one's place is for u. If the shard has none, it returns
// false, and makeRoom evicts one elsewhere; the weight stays reserved.
func (u *update[K, V]) reserveEntry(s *shard[K, V]) bool {
	b := s.common.size.counts
	if b == nil || u.hasEntry || b.reserve(1) {
		u.hasEntry = false
		return true
	}
	i, h, cause, ok := s.victim()
	if !ok {
		u.reserved, u.wantsEntry = uint64(u.weight), true
		return false
	}
	s.common.size.budget.release(s.detach(i, h, cause))
	return true
}

// shouldBorrow reports whether another shard, with clearly more entries, should evict for a key with
// hash h instead of s.
//
// In a cache that weighs its values, an eviction frees more than it must. The next store takes
// the rest, in any shard. So the shards' shares of the budget drift apart, unless something
// corrects them. Hashing gives all shards equally many keys; so they should have equally many
// entries, whatever an entry weighs. It is enough to look at one other shard and, in a shard
// with many entries, at one eviction in eight.
func (s *shard[K, V]) shouldBorrow(h uint64) bool {
	n := s.turn.share()
	t := s.common.table.Load()
	if len(t.shards) == 1 || n > 64 && h>>20%8 != 0 {
		return false
	}
	other := h + (1+h>>40%uint64(len(t.shards)-1))<<8
	return t.of(other).turn.share() > n+n/8+1
}

// makeRoom evicts entries of other shards for u, until the weight missing is free. It goes
// once through the shards, in groups, and evicts at most perHold entries of the fullest of each.
// Then the caller tries to store u again. When u is stored, endMaking must follow.
func (c *Cache[K, V]) makeRoom(u *update[K, V], missing uint64) {
	if !u.making {
		c.common.size.budget.release(u.reserved) // for the caller that makes room now
		if !u.wantsEntry {                       // or there was room for it
			missing += u.reserved
		}
		u.reserved = 0
		c.common.size.budget.making.Lock()
		u.making = true
	}
	want := u.reserved + missing
	t := c.common.table.Load()
	first, others := u.hash>>8+1, uint64(len(t.shards)-1) // begins with the shard after u's own
	for k := uint64(0); k < others && u.reserved < want; k += group {
		u.evictFrom(t.fullest(c.common.size.weigh != nil, first+k, first+min(k+group, others)), want)
	}
}

// group is the number of shards of which makeRoom takes the fullest.
const group = 4

// fullest returns the shard with the most entries to evict, of those with the numbers in
// [from, to), modulo their count. In a cache without weights shares do not drift, so it
// returns any of them.
func (t *table[K, V]) fullest(weighs bool, from, to uint64) *shard[K, V] {
	mask := uint64(len(t.shards) - 1)
	if !weighs {
		return &t.shards[(from+rand.Uint64N(to-from))&mask]
	}
	fullest := &t.shards[from&mask]
	for i := from + 1; i < to; i++ {
		if s := &t.shards[i&mask]; s.turn.share() > fullest.turn.share() {
			fullest = s
		}
	}
	return fullest
}

// evictFrom evicts entries, at most perHold, until the weight want is reserved for u.
func (u *update[K, V]) evictFrom(s *shard[K, V], want uint64) {
	s.lock.Lock()
	for n := 0; n < perHold && s.limited && u.reserved < want; n++ {
		i, h, cause, ok := s.victim()
		if !ok {
			break
		}
		u.reserved += s.detach(i, h, cause)
		if u.wantsEntry {
			u.wantsEntry, u.hasEntry = false, true
		} else {
			s.releaseEntries(1)
		}
	}
	s.maybeShrink()
	u.reported = s.unlock() || u.reported
}

// endMaking gives back the room that was made for u and that u does not need.
func (c *Cache[K, V]) endMaking(u *update[K, V]) {
	c.common.size.budget.release(u.reserved)
	if u.hasEntry {
		c.common.size.counts.release(1)
	}
	u.reserved, u.making, u.hasEntry = 0, false, false
	c.common.size.budget.making.Unlock()
}

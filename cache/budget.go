// This file limits what the entries of all shards weigh together. A shard that has too little
// to evict borrows: it makes room in other shards.

package cache

import (
	"math/rand/v2"
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

// shouldBorrow reports whether another shard has clearly more entries than this one. Then the
// other one should evict for a key with hash h. It is for caches that weigh their values. An
// eviction there frees more than it must, and the next store, in any shard, takes the rest. So
// the shares of the budget drift apart. They should not: hashing gives all shards equally many
// keys, whatever single ones weigh. One look at one other shard is enough, and in a shard with
// many entries one in eight evictions.
func (s *shard[K, V]) shouldBorrow(h uint64) bool {
	n := s.evictable.Load()
	t := s.shared.table.Load()
	if len(t.shards) == 1 || n > 64 && h>>20%8 != 0 {
		return false
	}
	other := h + (1+h>>40%uint64(len(t.shards)-1))<<8
	return t.of(other).evictable.Load() > n+n/8+1
}

// makeRoom evicts entries of other shards for u, which lacks the weight missing. It goes
// once through the shards, in groups, and evicts a batch at most from the fullest of each.
// Then the caller tries to store u again; that ends in endStore, or the caller gives up
// with abandon.
func (c *shared[K, V]) makeRoom(u *update[K, V], missing uint64) {
	if !u.making {
		c.sizing.budget.release(u.reserved) // for the caller that makes room now
		missing += u.reserved
		u.reserved = 0
		c.sizing.budget.making.Lock()
		u.making = true
	}
	want := u.reserved + missing
	t := c.table.Load()
	first, others := u.hash>>8+1, uint64(len(t.shards)-1) // begins with the shard after u's own
	for k := uint64(0); k < others && u.reserved < want; k += group {
		t.fullest(c.sizing.weigh != nil, first+k, first+min(k+group, others)).evictFor(u, want)
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
		if s := &t.shards[i&mask]; s.evictable.Load() > fullest.evictable.Load() {
			fullest = s
		}
	}
	return fullest
}

// evictFor evicts entries, a batch at most, until the weight want is reserved for u.
func (s *shard[K, V]) evictFor(u *update[K, V], want uint64) {
	s.lock.Lock()
	for n := 0; n < batch && s.limited && u.reserved < want; n++ {
		i, h, cause, ok := s.victim()
		if !ok {
			break
		}
		u.reserved += s.detach(i, h, cause)
	}
	s.maybeShrink()
	s.unlock(&u.owed)
}

// abandon gives back the room that was made for u and that u does not need.
func (c *shared[K, V]) abandon(u *update[K, V]) {
	if u.making {
		c.sizing.budget.release(u.reserved)
		u.reserved, u.making = 0, false
		c.sizing.budget.making.Unlock()
	}
}

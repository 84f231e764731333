package cache

import (
	"math/rand/v2"
	"sync/atomic"
)

// How room is made in shards other than that of the key that needs it.

// An evictable counts, for each shard of a cache that weighs, the entries that weigh
// something. A shard changes its count under its lock; all may read it. Each is in a
// cache line of its own.
type evictable []struct {
	atomic.Int64
	_ [56]byte
}

// of returns the count of the shard of a key with hash h.
func (e evictable) of(h uint64) *atomic.Int64 { return &e[h>>8&uint64(len(e)-1)].Int64 }

// lean reports whether a shard that has to evict for a key with hash h should leave it
// to another one, as that has clearly more entries. In a cache that weighs its values,
// evictions free more than they have to, and whoever comes next takes that: without a
// force that draws them back, the parts that shards have of the budget would drift
// apart for ever. Hashing gives all of them alike to store, so they should have alike
// many entries, whatever single ones weigh. To look at one other shard is enough, and
// at one in eight evictions if they have many entries.
func (s *shard[K, V]) lean(h uint64) bool {
	n := s.common.evictable.of(h).Load()
	if s.common.mask == 0 || n > 64 && h>>20%8 != 0 {
		return false
	}
	other := h + (1+h>>40%s.common.mask)<<8
	return s.common.evictable.of(other).Load() > n+n/8+1
}

// makeRoom evicts entries of other shards than its own for u, of which so much is
// missing. It goes once through the shards, in groups, and takes a batch at most from
// the fullest of each. The caller tries to store u again then, and either that ends in
// endStore, or the caller gives up with abandon.
func (c *Cache[K, V]) makeRoom(u *update[K, V], missing uint64) {
	if !u.making {
		c.budget.release(u.reserved) // for whoever makes room now
		missing += u.reserved
		u.reserved = 0
		c.budget.making.Lock()
		u.making = true
	}
	want := u.reserved + missing
	first := u.hash>>8 + 1 // behind own
	for k := uint64(0); k < c.mask && u.reserved < want; k += group {
		c.fullest(first+k, first+min(k+group, c.mask)).evictFor(u, want)
	}
}

// group is of how many shards makeRoom takes the fullest.
const group = 4

// fullest returns the shard that has most to evict of those from one number up to
// another, which go round. In a cache without weights parts do not drift, and any will
// do.
func (c *Cache[K, V]) fullest(from, to uint64) *shard[K, V] {
	if c.evictable == nil {
		return &c.shards[(from+rand.Uint64N(to-from))&c.mask]
	}
	fullest := from & c.mask
	for i := from + 1; i < to; i++ {
		if c.evictable[i&c.mask].Load() > c.evictable[fullest].Load() {
			fullest = i & c.mask
		}
	}
	return &c.shards[fullest]
}

// evictFor evicts entries, a batch at most, until so much is reserved for u.
func (s *shard[K, V]) evictFor(u *update[K, V], want uint64) {
	s.lock.Lock()
	for n := 0; n < batch && s.limited && u.reserved < want; n++ {
		i, h, ok := s.victim()
		if !ok {
			break
		}
		u.reserved += s.detach(i, h, s.causeOr(Evicted, i))
	}
	s.maybeShrink()
	u.reported = s.unlock() || u.reported
}

// abandon gives back what room was made for u, which is not going to be stored.
func (c *Cache[K, V]) abandon(u *update[K, V]) {
	if u.making {
		c.budget.release(u.reserved)
		u.reserved, u.making = 0, false
		c.budget.making.Unlock()
	}
}

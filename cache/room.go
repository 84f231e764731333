package cache

import "math/rand/v2"

// How room is made in shards other than that of the key that needs it.

// lean reports whether a shard that has to evict for a key with hash h should leave it
// to another one, as that has clearly more entries. In a cache that weighs its values,
// evictions free more than they must, and the next store takes that. So without a
// correction the shares that shards have of the budget drift apart. Hashing gives all
// shards equally many keys, so they should have equally many entries, whatever single ones
// weigh. It is enough to look at one other shard, and at one in eight evictions if they
// have many entries.
func (s *shard[K, V]) lean(h uint64) bool {
	n := s.evictable.Load()
	t := s.common.table.Load()
	if len(t.shards) == 1 || n > 64 && h>>20%8 != 0 {
		return false
	}
	other := h + (1+h>>40%uint64(len(t.shards)-1))<<8
	return t.of(other).evictable.Load() > n+n/8+1
}

// makeRoom evicts entries of other shards than its own for u, of which so much is
// missing. It goes once through the shards, in groups, and takes a batch at most from
// the fullest of each. The caller tries to store u again then, and either that ends in
// endStore, or the caller gives up with abandon.
func (c *Cache[K, V]) makeRoom(u *update[K, V], missing uint64) {
	if !u.making {
		c.budget.release(u.reserved) // for the caller that makes room now
		missing += u.reserved
		u.reserved = 0
		c.budget.making.Lock()
		u.making = true
	}
	want := u.reserved + missing
	t := c.table.Load()
	first, others := u.hash>>8+1, uint64(len(t.shards)-1) // from behind own on
	for k := uint64(0); k < others && u.reserved < want; k += group {
		t.fullest(c.weigh != nil, first+k, first+min(k+group, others)).evictFor(u, want)
	}
}

// group is of how many shards makeRoom takes the fullest.
const group = 4

// fullest returns the shard that has most to evict of those from one number up to
// another, which go round. In a cache without weights parts do not drift, and any will
// do.
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

// This file has all uses of a shard's eviction order, except the Mark in Get.

package cache

import "github.com/pinwheel-cache/pinwheel/internal/eviction"

// A shard without a limit has no order. An entry of weight 0 is not in the order, as evicting
// it would free nothing.

// use marks entry i as used.
func (s *shard[K, V]) use(i uint32) {
	if s.marks != nil {
		s.marks.Mark(i)
	}
}

// useAt is use of an entry that has not expired, by a caller that holds the lock for
// writing: it also postpones the end of idleness. It returns false if that has come.
func (s *shard[K, V]) useAt(i uint32, h uint64) bool {
	s.use(i)
	return s.common.idle == 0 || s.slide(i, h)
}

// enlist adds entry i, whose key has hash h, to the order.
func (s *shard[K, V]) enlist(i uint32, h uint64) {
	if s.order != nil {
		s.order.Insert(i, h)
	}
	s.countEvictable(1)
}

// delist takes entry i, which is being removed, out of the order.
func (s *shard[K, V]) delist(i uint32) {
	if s.order != nil {
		s.order.Remove(i)
	}
	s.countEvictable(-1)
}

// countEvictable counts entries that enter or leave the order, for shards that look for
// room.
func (s *shard[K, V]) countEvictable(n int32) {
	if s.weights != nil {
		s.evictable.Add(n)
	}
}

// relist changes the slot number of an entry in the order.
func (s *shard[K, V]) relist(from, to uint32) {
	if s.order != nil && s.weight(to) > 0 {
		s.order.Rename(from, to)
	}
}

// resizeOrder makes room in the order for n slots.
func (s *shard[K, V]) resizeOrder(n int) {
	if s.order == nil {
		return
	}
	s.order.Resize(n)
	if s.weights != nil {
		s.order.Weigh(s.weights)
	}
}

// makeOrder makes the order of a shard that had no limit so far, with its entries by slot
// number.
func (s *shard[K, V]) makeOrder() {
	s.order = newOrder(s.common.policy)
	s.resizeOrder(len(s.entries))
	s.marks = s.order.Marks()
	for i := range s.entries {
		if s.entries[i].live() {
			s.order.Insert(uint32(i), s.hashOf(uint32(i)))
		}
	}
}

// newOrder returns an empty order by a policy.
func newOrder(p Policy) eviction.Policy {
	if p == Adaptive {
		return new(eviction.Adaptive)
	}
	return new(eviction.Order)
}

// few is the most entries of a shard in which victim looks at all entries.
const few = 16

// victim returns the entry to evict and the hash of its key, and leaves it where it is. It
// returns false if there is none. It is the next by the order, or in a shard of few entries
// one that has expired since the last tick. The order may remember the key, as it may come
// back. An entry that has expired would be no hit if it had stayed, so its key is not
// remembered.
func (s *shard[K, V]) victim() (i uint32, h uint64, ok bool) {
	if s.len <= few && s.ring != nil {
		for i := range s.entries {
			if s.entries[i].live() && s.weight(uint32(i)) > 0 && s.expired(uint32(i)) {
				return uint32(i), s.hashOf(uint32(i)), true
			}
		}
	}
	s.lookAhead()
	for {
		if i, ok = s.order.Victim(); !ok {
			return 0, 0, false
		}
		if h = s.hashOf(i); s.expired(i) || !s.order.Spare(i, h) {
			return i, h, true
		}
	}
}

// lookAhead fetches what the next evictions need, for several of them at once: first all
// entries, then all that their hashes lead to.
func (s *shard[K, V]) lookAhead() {
	next := s.order.Ahead()
	if len(next) == 0 {
		return
	}
	for k := range next {
		next[k].Hash = s.hashOf(next[k].Entry)
	}
	read := s.order.Fetch(next)
	for k := range next {
		read += s.index.FetchHome(next[k].Hash)
	}
	for k := range next {
		read += s.index.Fetch(next[k].Hash)
	}
	s.fetched += uint32(read)
}

// hashOf returns the hash of the key of entry i.
func (s *shard[K, V]) hashOf(i uint32) uint64 { return s.common.hasher.Hash(s.entries[i].key) }

// firstBut returns the entry that is next by the order, other than entry i. It returns false
// if there is no other.
func (s *shard[K, V]) firstBut(i uint32) (j uint32, ok bool) {
	for j := range s.order.All() {
		if j != i {
			return j, true
		}
	}
	return 0, false
}

// takeOver evicts the entry that is next by the order and gives its slot to a key that has
// no entry. Deadline and task are still those of the old entry.
func (s *shard[K, V]) takeOver(u *update[K, V]) uint32 {
	i, old, _ := s.victim()
	e := &s.entries[i]
	s.noteRemoval(i, old, s.causeOr(Evicted, i))
	s.index.Remove(old, i)
	s.index.Insert(u.hash, i)
	s.lost.forget(u.hash)
	s.delist(i)
	s.enlist(i, u.hash)
	e.key, e.value = u.key, u.value
	return i
}

// evict removes the entry that is next by the order. It returns false if there is none, or
// if the shard is not limited during a Resize.
func (s *shard[K, V]) evict() bool {
	if !s.limited {
		return false
	}
	i, h, ok := s.victim()
	if !ok {
		return false
	}
	s.remove(i, h, s.causeOr(Evicted, i))
	return true
}

// evictSurplus evicts up to n entries while there is a surplus. It reports whether
// settle must follow.
func (s *shard[K, V]) evictSurplus(n int) (reported bool) {
	s.lock.Lock()
	for ; n > 0 && s.common.budget.surplus() > 0 && s.evict(); n-- {
	}
	s.maybeShrink()
	return s.unlock()
}

// setLimited says whether the entries of the shard count against the budget.
func (s *shard[K, V]) setLimited(limited bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.limited == limited {
		return
	}
	s.limited = limited
	if !limited {
		s.common.budget.release(uint64(s.len))
		return
	}
	s.common.budget.used.Add(uint64(s.len))
	if s.order == nil {
		s.makeOrder()
	}
}

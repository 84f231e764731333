// This file has the eviction order of a shard, and all uses of it except the Mark in Get. A
// shard without a limit has no order. An entry of weight 0 is not in the order, as evicting
// it would free nothing.

package cache

import (
	"strconv"

	"github.com/pinwheel-cache/pinwheel/lru"
)

// A Policy is a way to choose the entry to evict.
type Policy uint8

const (
	// LRU evicts the entry that was not used for longest, as package lru does: used
	// entries are moved on when eviction reaches them.
	LRU Policy = iota

	// Adaptive keeps entries that are used again from being evicted by those used once,
	// as when a program scans the keys, or loops over more of them than the limit. On most
	// loads it has more hits than LRU with the same limit, and fewer on some where popularity
	// drifts. It takes some six more bytes per entry. See [lru.Adaptive].
	Adaptive
)

// String returns the name of the policy in lower case, such as "lru".
func (p Policy) String() string {
	switch p {
	case LRU:
		return "lru"
	case Adaptive:
		return "adaptive"
	}
	return "Policy(" + strconv.Itoa(int(p)) + ")"
}

// other returns the policy that WhatIf compares with p.
func (p Policy) other() Policy {
	if p == LRU {
		return Adaptive
	}
	return LRU
}

// newOrder returns an empty order by a policy.
func newOrder(p Policy) lru.Policy {
	if p == Adaptive {
		return new(lru.Adaptive)
	}
	return new(lru.Order)
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
		s.shared.sizing.budget.release(uint64(s.len))
		return
	}
	s.shared.sizing.budget.used.Add(uint64(s.len))
	if s.order == nil {
		s.makeOrder()
	}
}

// makeOrder makes the order of a shard that had no limit so far, with its entries by slot
// number.
func (s *shard[K, V]) makeOrder() {
	s.order = newOrder(s.shared.sizing.policy)
	s.resizeOrder(len(s.entries))
	s.marks = s.order.Marks()
	for i := range s.entries {
		if s.entries[i].live() {
			s.order.Insert(uint32(i), s.hashOf(uint32(i)))
		}
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

// few is the most entries of a shard in which victim looks at all entries.
const few = 16

// victim returns the entry to evict, the hash of its key and the cause of its removal, and
// leaves it where it is. It returns false if there is none. It is the next by the order, or in
// a shard of few entries one that has expired since the last tick. The order may remember the
// key, as it may come back. The order does not remember the key of an entry that has expired:
// staying would not have made it a hit.
func (s *shard[K, V]) victim() (i uint32, h uint64, cause Cause, ok bool) {
	if s.len <= few && s.ring != nil {
		for i := range s.entries {
			if s.entries[i].live() && s.weight(uint32(i)) > 0 && s.foundExpired(uint32(i)) {
				return uint32(i), s.hashOf(uint32(i)), s.causeOr(Evicted, uint32(i)), true
			}
		}
	}
	if !s.shared.sizing.isNear() {
		s.lookAhead()
	}
	for {
		if i, ok = s.order.Victim(); !ok {
			return 0, 0, 0, false
		}
		h = s.hashOf(i)
		if s.foundExpired(i) {
			return i, h, s.causeOr(Evicted, i), true
		}
		if !s.order.Spare(i, h) {
			return i, h, Evicted, true
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
	read := s.order.Prefetch(next)
	for k := range next {
		read += s.index.PrefetchHome(next[k].Hash)
	}
	for k := range next {
		read += s.index.Prefetch(next[k].Hash)
	}
	s.readAhead += uint32(read)
}

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

// reuseSlot evicts the entry that is next by the order, in a shard without weights, and gives
// its slot to a key that has no entry. Deadline and task are still those of the old entry.
func (s *shard[K, V]) reuseSlot(u *update[K, V]) uint32 {
	i, old, cause, _ := s.victim()
	e := &s.entries[i]
	s.noteRemoval(i, old, cause)
	s.index.Remove(old, i)
	s.index.Insert(u.hash, i)
	s.lost.Forget(u.hash)
	s.order.Remove(i)
	s.order.Insert(i, u.hash)
	e.key, e.value = u.key, u.value
	return i
}

// evict removes the entry that is next by the order. It returns false if there is none, or
// if the shard is not limited during a Resize.
func (s *shard[K, V]) evict() bool {
	if !s.limited {
		return false
	}
	i, h, cause, ok := s.victim()
	if !ok {
		return false
	}
	s.remove(i, h, cause)
	return true
}

// evictSurplus evicts up to n entries while there is a surplus. settle must
// follow.
func (s *shard[K, V]) evictSurplus(n int) (owed debt[K, V]) {
	s.lock.Lock()
	for ; n > 0 && s.shared.sizing.budget.surplus() > 0 && s.evict(); n-- {
	}
	s.maybeShrink()
	s.unlock(&owed)
	return owed
}

// This file gives the arrays of a shard as many slots as they need: all parts of it together.

package cache

import (
	"github.com/pinwheel-cache/pinwheel/internal/index"
)

// grow doubles the slots of the shard, but not beyond the number that it is expected to
// need.
func (s *shard[K, V]) grow() {
	used := len(s.entries)
	n := max(minSlots, 2*used)
	shards := len(s.common.table.Load().shards)
	if n >= s.common.size.fullSlots(shards) {
		s.common.crowds()
	}
	if s.common.size.weigh != nil {
		n = min(n, used+max(used/8+1, s.common.size.roomForMore(used)))
	} else if most := s.common.size.expectedSlots(shards); most > 0 && n > most {
		n = max(most, used+used/64+1)
	}
	s.setSlots(n)
}

// maybeShrink frees memory if many entries were removed.
func (s *shard[K, V]) maybeShrink() {
	if s.slots.canShrink(len(s.entries)) && !s.split {
		s.setSlots(max(minSlots, 2*s.slots.len))
	}
}

// setSlots gives all arrays n slots, which must be enough for the entries.
func (s *shard[K, V]) setSlots(n int) {
	used := len(s.entries)
	if s.slots.len == 0 { // nothing in the arrays is needed
		s.entries, used = nil, 0
		s.lives.dropTasks()
	}
	s.moveAllEarlier()
	if n < used {
		s.compact(n)
		used = n
	}
	s.entries = resized(s.entries, n)
	s.lives.resize(n, &s.common.time)
	s.turn.resize(n, s.common.size.weigh != nil)
	s.tally.resize(n, s.common.observers.ages)
	s.slots.free = uint32(used)
	for i := used - 1; i >= 0 && s.slots.len < used; i-- {
		if !s.entries[i].live() {
			s.slots.link(uint32(i), &s.entries[i].deadline)
		}
	}
	s.rebuildIndex(used)
}

// compact moves the entries of slots n and above to free slots below, so that
// the arrays can be cut off there.
func (s *shard[K, V]) compact(n int) {
	to := uint32(0)
	for i := n; i < len(s.entries); i++ {
		from := uint32(i)
		if !s.entries[from].live() {
			s.lives.forget(from)
			continue
		}
		for s.entries[to].live() {
			to++
		}
		s.rename(from, to)
	}
}

// rename moves an entry to a free slot. The index is left as it is.
func (s *shard[K, V]) rename(from, to uint32) {
	s.copyEntry(to, s, from)
	s.entries[from].deadline.Set(freeSlots)
	s.turn.rename(from, to)
	s.lives.rename(from, to)
}

// copyEntry copies what a shard, this one or another, keeps of an entry in arrays that
// nothing but the entry changes.
func (s *shard[K, V]) copyEntry(to uint32, other *shard[K, V], from uint32) {
	a, b := &other.entries[from], &s.entries[to]
	b.key, b.value = a.key, a.value
	b.deadline.Set(a.deadline.Get())
	s.lives.copy(to, &other.lives, from)
	s.turn.copy(to, &other.turn, from)
	s.tally.copy(to, &other.tally, from)
}

// prefetched has entries that are about to be needed, with the hashes of their keys, in the
// order in which they will be.
type prefetched struct {
	slots  [batch]uint32
	hashes [batch]uint64
	n      int
	next   int // the first that the ring may still visit
}

// rebuildIndex makes a new index for the entries, which are in slots below used. It hashes
// the keys of a batch before it inserts them, unless they are integers: so the bytes of many
// strings come from memory at once.
func (s *shard[K, V]) rebuildIndex(used int) {
	s.index = index.New(len(s.entries))
	var f prefetched
	for i := range uint32(used) {
		e := &s.entries[i]
		if !e.live() {
			continue
		}
		if h, ok := s.common.hasher.Word(e.key); ok {
			s.index.Insert(h, i)
			continue
		}
		if f.n == batch {
			s.insertPrefetched(&f)
		}
		f.slots[f.n], f.hashes[f.n] = i, s.common.hasher.Hash(e.key)
		f.n++
	}
	s.insertPrefetched(&f)
}

// insertPrefetched inserts entries into the index.
func (s *shard[K, V]) insertPrefetched(f *prefetched) {
	for n, i := range f.slots[:f.n] {
		s.index.Insert(f.hashes[n], i)
	}
	f.n = 0
}

// claimSlot returns a slot that was free, for an entry without a deadline.
func (s *shard[K, V]) claimSlot() uint32 {
	if s.slots.len == len(s.entries) {
		s.grow()
	}
	i := s.slots.free
	s.slots.claim(&s.entries[i].deadline)
	return i
}

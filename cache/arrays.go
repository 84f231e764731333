// This file makes the arrays of a shard longer and shorter, those of all its parts together, and its
// index anew. A new array comes here only if an option turns it on: its part has resize and copy.

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
	s.tally.resize(n, s.common.ages)
	s.slots.reset(used)
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

// copyEntry copies entry from of a shard, this one or another, to slot to: all but its task, and its
// places in the order and the index.
func (s *shard[K, V]) copyEntry(to uint32, other *shard[K, V], from uint32) {
	a, b := &other.entries[from], &s.entries[to]
	b.key, b.value = a.key, a.value
	b.deadline.Set(a.deadline.Get())
	s.lives.copy(to, &other.lives, from)
	s.turn.copy(to, &other.turn, from)
	s.tally.copy(to, &other.tally, from)
}

// prefetched has entries that are needed next, in that order, with the hashes of their keys.
type prefetched struct {
	slots  [perHold]uint32
	hashes [perHold]uint64
	n      int
	next   int // the ring has visited those before it
}

// rebuildIndex makes a new index for the entries, which are in slots below used. Unless
// keys are integers, it hashes perHold of them before it inserts these, so that the processor reads
// the bytes of many strings at once.
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
		if f.n == perHold {
			f.insert(&s.index)
		}
		f.slots[f.n], f.hashes[f.n] = i, s.common.hasher.Hash(e.key)
		f.n++
	}
	f.insert(&s.index)
}

// insert inserts the entries into an index, and forgets them.
func (f *prefetched) insert(x *index.Index) {
	for n, i := range f.slots[:f.n] {
		x.Insert(f.hashes[n], i)
	}
	f.n = 0
}

// hash returns the hash of the key of entry i, and false if i is not among the entries that are left.
func (f *prefetched) hash(i uint32) (h uint64, ok bool) {
	for f.next < f.n {
		n := f.next
		f.next++
		if f.slots[n] == i {
			return f.hashes[n], true
		}
	}
	return 0, false
}

// claimSlot returns a slot that was free, for an entry without a deadline.
func (s *shard[K, V]) claimSlot() uint32 {
	if s.slots.len == len(s.entries) {
		s.grow()
	}
	i := s.slots.next()
	s.slots.claim(&s.entries[i].deadline)
	return i
}

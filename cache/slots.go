// This file gives the arrays of a shard as many slots as they need.

package cache

import (
	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/internal/index"
)

const (
	// minSlots is what a shard begins with, unless its limit is lower.
	minSlots = 8

	// A shard that uses less than a quarter of its slots shrinks to twice what
	// it uses. So it must double or halve before its arrays are copied again.
	sparse = 4
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
	if len(s.entries) <= minSlots || s.len > len(s.entries)/sparse || s.pins.Load() != 0 || s.split {
		return
	}
	s.setSlots(max(minSlots, 2*s.len))
}

// setSlots gives all arrays n slots, which must be enough for the entries.
func (s *shard[K, V]) setSlots(n int) {
	used := len(s.entries)
	if s.len == 0 { // nothing in the arrays is needed
		s.entries, s.ring, s.earlier, used = nil, nil, nil, 0
		s.nextVisit.Store(noTick)
	}
	s.moveAllEarlier()
	if n < used {
		s.compact(n)
		used = n
	}
	s.entries = resized(s.entries, n)
	if s.common.size.weigh != nil {
		s.weights = resized(s.weights, n)
	}
	if s.common.time.idle > 0 {
		s.caps = resized(s.caps, n)
	}
	if s.common.time.renews {
		s.due = resized(s.due, n)
	}
	if s.common.observers.ages {
		s.born = resized(s.born, n)
	}
	s.resizeOrder(n)
	if s.ring != nil {
		s.ring.Resize(n)
	}
	s.free = uint32(used)
	for i := used - 1; i >= 0 && s.len < used; i-- {
		if !s.entries[i].live() {
			s.freeSlot(uint32(i))
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
			if s.ring != nil {
				s.ring.Forget(from)
			}
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
	s.relist(from, to)
	if s.ring != nil {
		s.ring.Rename(from, to)
	}
}

// copyEntry copies what a shard, this one or another, keeps of an entry in arrays that
// nothing but the entry changes.
func (s *shard[K, V]) copyEntry(to uint32, other *shard[K, V], from uint32) {
	a, b := &other.entries[from], &s.entries[to]
	b.key, b.value = a.key, a.value
	b.deadline.Set(a.deadline.Get())
	if s.weights != nil {
		s.weights[to] = other.weights[from]
	}
	if s.caps != nil {
		s.caps[to] = other.caps[from]
	}
	if s.due != nil {
		s.due[to].Set(other.due[from].Get())
	}
	if s.born != nil {
		s.born[to] = other.born[from]
	}
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

func resized[T any](old []T, n int) []T {
	a := make([]T, n)
	copy(a, old)
	return a
}

// freeSlot puts a slot at the head of the free ones.
func (s *shard[K, V]) freeSlot(i uint32) {
	s.entries[i].deadline.Set(freeSlots + int64(s.free))
	s.free = i
}

// afterFree returns the free slot that follows free slot i.
func (s *shard[K, V]) afterFree(i uint32) uint32 {
	if next := s.entries[i].deadline.Get(); next != unused {
		return uint32(next - freeSlots)
	}
	return i + 1
}

// claimSlot returns a slot that was free, for an entry without a deadline.
func (s *shard[K, V]) claimSlot() uint32 {
	if s.len == len(s.entries) {
		s.grow()
	}
	i := s.free
	s.free = s.afterFree(i)
	s.entries[i].deadline.Set(clock.Never)
	s.len++
	return i
}

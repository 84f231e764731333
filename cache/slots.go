// This file has the slots of a shard: which of them are free, how many are not, and who keeps
// them from being moved. A slot with an entry is live; the free ones are a list, from free on.
// The lock of the shard guards all of it, held for writing; a reader may pin.

package cache

import (
	"math"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// slots says which slots of a shard are free.
type slots struct {
	free uint32       // the first free slot; the others follow from it
	pins atomic.Int32 // walks under way, during which slot numbers stay
	len  int          // entries
}

const (
	freeSlots = math.MinInt64 // the deadline of a free slot is freeSlots plus the next free slot
	unused    = 0             // the deadline of a slot that is free, as are all that follow
)

// next returns the slot that claim takes.
func (s *slots) next() uint32 { return s.free }

// claim takes the first free slot, whose deadline is d, for an entry without a deadline.
func (s *slots) claim(d *clock.Deadline) {
	s.free = s.after(s.free, d)
	d.Set(clock.Never)
	s.len++
}

// release makes slot i, whose deadline is d, free: the next one that is claimed.
func (s *slots) release(i uint32, d *clock.Deadline) {
	s.link(i, d)
	s.len--
}

// link puts slot i, whose deadline is d, at the head of the free ones.
func (s *slots) link(i uint32, d *clock.Deadline) {
	d.Set(freeSlots + int64(s.free))
	s.free = i
}

// after returns the free slot that follows free slot i, whose deadline is d.
func (*slots) after(i uint32, d *clock.Deadline) uint32 {
	if next := d.Get(); next != unused {
		return uint32(next - freeSlots)
	}
	return i + 1
}

// reset makes all slots that are in no list free: those from first on.
func (s *slots) reset(first int) { s.free = uint32(first) }

// pin keeps the entries in their slots until unpin. A reader may call it.
func (s *slots) pin() { s.pins.Add(1) }

// unpin ends a pin, and reports whether it was the last one. It needs no lock.
func (s *slots) unpin() bool { return s.pins.Add(-1) == 0 }

// pinned reports whether entries must stay in their slots.
func (s *slots) pinned() bool { return s.pins.Load() != 0 }

// clear notes that there are no entries any more. The free slots are not linked.
func (s *slots) clear() { s.len = 0 }

// drop forgets all entries.
func (s *slots) drop() { s.free, s.len = 0, 0 }

// canShrink reports whether a shard with so many slots should get fewer, and entries may be moved.
func (s *slots) canShrink(all int) bool {
	return all > minSlots && s.len <= all/sparse && !s.pinned()
}

const (
	// minSlots is what a shard begins with, unless its limit is lower.
	minSlots = 8

	// A shard that uses less than a quarter of its slots shrinks to twice what
	// it uses. So it must double or halve before its arrays are copied again.
	sparse = 4
)

// resized returns an array of n elements that begins with those of old.
func resized[T any](old []T, n int) []T {
	a := make([]T, n)
	copy(a, old)
	return a
}

// This file has the slots of a shard: which of them are free, how many are not, and who keeps
// them from being moved. A slot with an entry is live; the free ones are a list, from free on.
// The lock of the shard guards all of it, held for writing; a reader may pin.

package cache

import (
	"math"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
)

// A slots says which slots of a shard are free.
type slots struct {
	free uint32       // the first free slot; the others follow from it
	pins atomic.Int32 // walks under way, during which slot numbers stay
	len  int          // entries
}

const (
	freeSlots = math.MinInt64 // a deadline from here on is none: it says which slot is the next free one
	unused    = 0             // the slot is free, and so are all that follow
)

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

// canShrink reports whether so many slots are too many, and may be moved.
func (s *slots) canShrink(all int) bool {
	return all > minSlots && s.len <= all/sparse && s.pins.Load() == 0
}

const (
	// minSlots is what a shard begins with, unless its limit is lower.
	minSlots = 8

	// A shard that uses less than a quarter of its slots shrinks to twice what
	// it uses. So it must double or halve before its arrays are copied again.
	sparse = 4
)

// resized returns an array of n elements that begins as another does.
func resized[T any](old []T, n int) []T {
	a := make([]T, n)
	copy(a, old)
	return a
}

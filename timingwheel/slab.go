package timingwheel

import "github.com/pinwheel-cache/pinwheel/timingwheel/ring"

const (
	minSlab = 8

	// A shard that uses less than a quarter of its slab shrinks to twice what
	// it uses. So it must double or halve before its arrays are copied again.
	sparseFactor = 4
)

// A slab holds the timers of a shard by task number, and reuses the numbers.
type slab[E any] struct {
	ring    *ring.Ring
	entries []E      // by task number
	free    []uint32 // task numbers given back
	used    int      // the task numbers below used have been handed out at least once
}

func newSlab[E any](slots int) slab[E] { return slab[E]{ring: ring.New(slots)} }

// live reports whether a task number belongs to a timer.
func (s *slab[E]) live(i uint32) bool {
	_, ok := s.ring.Due(i)
	return ok
}

// full reports whether add needs a larger slab.
func (s *slab[E]) full() bool { return len(s.free) == 0 && s.used == len(s.entries) }

// add gives an entry a task number. The slab must not be full.
func (s *slab[E]) add(e E) uint32 {
	i := uint32(s.used)
	if last := len(s.free) - 1; last >= 0 {
		i = s.free[last]
		s.free = s.free[:last]
	} else {
		s.used++
	}
	s.entries[i] = e
	return i
}

// drop removes a timer and frees its number.
func (s *slab[E]) drop(i uint32) {
	var zero E
	s.ring.Remove(i)
	s.entries[i] = zero // keeps the entry alive no longer
	s.free = append(s.free, i)
}

// sparse reports whether the arrays are to shrink.
func (s *slab[E]) sparse() bool {
	return len(s.entries) > minSlab && s.ring.Len() <= len(s.entries)/sparseFactor
}

// resize makes room for n timers, at least as many as there are. It calls
// moved for every entry that gets another number.
func (s *slab[E]) resize(n int, moved func(e E, to uint32)) {
	if n < s.used {
		s.compact(moved)
	}
	entries := make([]E, n)
	copy(entries, s.entries[:s.used])
	s.entries = entries
	s.ring.Resize(n)
}

// compact gives the timers the lowest numbers.
func (s *slab[E]) compact(moved func(e E, to uint32)) {
	to := uint32(0)
	for i := range uint32(s.used) {
		switch {
		case !s.live(i):
			s.ring.Forget(i)
		case i == to:
			to++
		default:
			s.ring.Rename(i, to)
			s.entries[to] = s.entries[i]
			moved(s.entries[to], to)
			to++
		}
	}
	s.used = int(to)
	s.free = nil
}

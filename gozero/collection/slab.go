package collection

import "github.com/pinwheel-cache/pinwheel/timingwheel/ring"

// A slab holds the timers of a ticked wheel by number, and reuses the numbers: their tasks
// are in the ring, their keys and values in timers, and index has the number of a key.
type slab struct {
	ring   *ring.Ring
	slots  int
	index  map[any]uint32
	timers []timer
	used   int // numbers below it have been handed out at least once
	free   []uint32
}

type timer struct {
	key, value any
	soon       bool // a goroutine was started to call it, and it has no task
}

// newSlab returns a slab without timers. The ring stands at tick now.
func newSlab(slots int, now int64) slab {
	s := slab{ring: ring.New(slots), slots: slots, index: make(map[any]uint32)}
	s.ring.Advance(now, 0, nil) // visits nothing
	return s
}

// renew removes all timers, frees their memory, and returns the old slab.
func (s *slab) renew() (old slab) {
	old = *s
	*s = newSlab(old.slots, old.ring.Now())
	return old
}

// add gives a key a number.
func (s *slab) add(key any) uint32 {
	i := uint32(s.used)
	if last := len(s.free) - 1; last >= 0 {
		i = s.free[last]
		s.free = s.free[:last]
	} else {
		if s.used == len(s.timers) {
			s.grow()
		}
		s.used++
	}
	s.timers[i].key = key
	s.index[key] = i
	return i
}

func (s *slab) grow() {
	timers := make([]timer, max(8, 2*len(s.timers)))
	copy(timers, s.timers)
	s.timers = timers
	s.ring.Resize(len(timers))
}

// drop removes timer i, frees its number, and returns the timer. After the last of
// many timers it frees the memory too.
func (s *slab) drop(i uint32) timer {
	t := s.timers[i]
	s.ring.Remove(i)
	s.timers[i] = timer{} // keeps key and value alive no longer
	s.free = append(s.free, i)
	delete(s.index, t.key)
	if len(s.index) == 0 && len(s.timers) > minSlab {
		s.renew()
	}
	return t
}

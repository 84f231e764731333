package collection

import "github.com/pinwheel-cache/pinwheel/timingwheel"

// places holds the timers of a ticked wheel, by number: their tasks in the ring, their
// keys and values in timers, and an index from key to number.
type places struct {
	ring   *timingwheel.Ring
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

// newPlaces returns places without timers. The ring stands at tick now.
func newPlaces(slots int, now int64) places {
	p := places{ring: timingwheel.NewRing(slots), slots: slots, index: make(map[any]uint32)}
	p.ring.Advance(now, 0, nil) // visits nothing
	return p
}

// renew removes all timers, frees their memory, and returns the old places.
func (p *places) renew() (old places) {
	old = *p
	*p = newPlaces(old.slots, old.ring.Now())
	return old
}

// add gives a key a number.
func (p *places) add(key any) uint32 {
	i := uint32(p.used)
	if last := len(p.free) - 1; last >= 0 {
		i = p.free[last]
		p.free = p.free[:last]
	} else {
		if p.used == len(p.timers) {
			p.grow()
		}
		p.used++
	}
	p.timers[i].key = key
	p.index[key] = i
	return i
}

func (p *places) grow() {
	timers := make([]timer, max(8, 2*len(p.timers)))
	copy(timers, p.timers)
	p.timers = timers
	p.ring.Resize(len(timers))
}

// drop removes timer i, frees its number, and returns the timer. After the last of
// many timers it frees the memory too.
func (p *places) drop(i uint32) timer {
	t := p.timers[i]
	p.ring.Remove(i)
	p.timers[i] = timer{} // not to be kept alive from here
	p.free = append(p.free, i)
	delete(p.index, t.key)
	if len(p.index) == 0 && len(p.timers) > minPlaces {
		p.renew()
	}
	return t
}

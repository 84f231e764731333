package collection

import "github.com/pinwheel-cache/pinwheel/timingwheel"

// places are the timers of a ticked wheel: parallel arrays, in the ring and here,
// and the numbers by key.
type places struct {
	ring   *timingwheel.Ring
	slots  int
	index  map[any]uint32
	timers []timer
	used   int // numbers that were ever handed out
	free   []uint32
}

type timer struct {
	key, value any
	soon       bool // a goroutine is on its way to call it
}

// newPlaces returns no timers, at a tick.
func newPlaces(slots int, now int64) places {
	p := places{ring: timingwheel.NewRing(slots), slots: slots, index: make(map[any]uint32)}
	p.ring.Advance(now, 0, nil) // visits nothing
	return p
}

// renew leaves no timers, and no memory for them, and returns what there was.
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

// drop takes timer i off, gives its number back, and returns what it was. After
// the last of many timers it gives back the memory too.
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

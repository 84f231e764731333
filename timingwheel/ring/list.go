package ring

import (
	"math"
	"math/bits"
)

const (
	none = math.MaxUint32 // the end of a list

	// The upper two bits of task.at say which kind of list the task is in; 0 is
	// no list. The others are, for a slot, the tick of its next visit, counted
	// in slots of its level and modulo 2n. Modulo n this tick is the slot. The bit
	// above tells tasks of the present tick, still to be visited, from tasks of the
	// same slot a revolution later.
	inCircle   = 1 << 14
	inOverflow = 2 << 14
	inDue      = 3 << 14
	lists      = 3 << 14
)

func (t *task) list() uint16 { return t.at & lists }

// A level is a circle of slots, each with a list of tasks.
type level struct {
	heads    []uint32 // the first task of each slot, or none; nil before first use
	occupied []uint64 // a bit per slot: its list is not empty
	scan     uint32   // what has still to be visited at the present tick
}

func (l *level) init(slots int64) {
	l.heads = make([]uint32, slots)
	l.occupied = make([]uint64, (slots+63)/64)
	for p := range l.heads {
		l.heads[p] = none
	}
}

// slot returns the slot that is visited at a tick of the level.
func (l *level) slot(tick int64) int { return int(tick & int64(len(l.heads)-1)) }

// setHead makes task i, or none, the first of a slot.
func (l *level) setHead(p int, i uint32) {
	l.heads[p] = i
	if i == none {
		l.occupied[p/64] &^= 1 << (p % 64)
	} else {
		l.occupied[p/64] |= 1 << (p % 64)
	}
}

// detach moves the list of the slot of a tick to scan.
func (l *level) detach(tick int64) {
	if l.heads == nil {
		return
	}
	p := l.slot(tick)
	l.scan = l.heads[p]
	l.setHead(p, none)
}

// nextVisit returns the first tick of the level after now whose slot is not
// empty, or math.MaxInt64 if all are.
func (l *level) nextVisit(now int64) int64 {
	n := int64(len(l.heads))
	for d := int64(1); d <= n; {
		p := l.slot(now + d)
		if rest := l.occupied[p/64] >> (p % 64); rest != 0 {
			return now + d + int64(bits.TrailingZeros64(rest))
		}
		d += min(64-int64(p%64), n-int64(p)) // to the next word, or round to slot 0
	}
	return math.MaxInt64
}

// slots returns n, the number of slots of a level and of ticks in a revolution.
func (r *Ring) slots() int64 { return 1 << (r.shift & 63) } // the mask tells the compiler that it is below 64

// scanned returns the first of the tasks that wait for their visit at the
// present tick, or none.
func (r *Ring) scanned() uint32 {
	if i := r.levels[1].scan; i != none {
		return i
	}
	return r.levels[0].scan
}

// dist returns the ticks until the next visit of t's slot.
func (r *Ring) dist(t *task) int64 {
	mask := 2*r.slots() - 1
	if t.list() == inCircle {
		return (int64(t.at) - r.now) & mask
	}
	revolutions := (int64(t.at) - r.now>>r.shift) & mask
	return revolutions<<r.shift - r.now&(r.slots()-1)
}

// link puts a task that is in no list into the slot of the tick at which it is
// due, if that is within a revolution. Otherwise it goes to the overflow level, into
// the slot of the revolution in which it is due, or the last slot; circle and diff
// hold the rest of the wait. It returns the tick at which the ring visits the slot.
func (r *Ring) link(i uint32, due int64) (visit int64) {
	if due-r.now <= r.slots() {
		r.linkAt(i, 0, due, 0, 0)
		return due
	}
	at := min(due>>r.shift, r.now>>r.shift+r.slots())
	circle, diff := r.split(due - at<<r.shift)
	r.linkAt(i, 1, at, circle, diff)
	return at << r.shift
}

// linkAt puts a task that is in no list into the slot of a tick of a level.
func (r *Ring) linkAt(i uint32, l int, at int64, circle uint32, diff uint16) {
	lv := &r.levels[l]
	if lv.heads == nil {
		lv.init(r.slots())
	}
	p := lv.slot(at)
	next := lv.heads[p]
	if circle == 0 {
		circle, diff = r.shortcut(next), diff|hasShortcut
	}
	r.tasks[i] = task{
		next:   next,
		prev:   none,
		circle: circle,
		diff:   diff,
		at:     uint16(l+1)*inCircle | uint16(at&(2*r.slots()-1)),
	}
	if next != none {
		r.tasks[next].prev = i
	}
	lv.setHead(p, i)
}

// unlink takes task i out of the list that it is in.
func (r *Ring) unlink(i uint32) {
	t := r.tasks[i]
	r.tasks[i] = task{}
	if t.list() == inDue {
		r.due.leave(t.place())
		return
	}
	r.setNext(t.prev, &t, t.next)
	r.setPrev(t.next, t.prev)
}

// setNext makes next follow prev in the slot of t. If prev is none, next is the first of the
// slot's list.
func (r *Ring) setNext(prev uint32, t *task, next uint32) {
	if prev != none {
		r.tasks[prev].next = next
		return
	}
	l := &r.levels[t.list()/inCircle-1]
	if r.dist(t) == 0 {
		l.scan = next
		return
	}
	l.setHead(l.slot(int64(t.at)), next)
}

// setPrev makes prev precede next, which is none at the end of a list.
func (r *Ring) setPrev(next, prev uint32) {
	if next != none {
		r.tasks[next].prev = prev
	}
}

// rest returns the ticks that t has to wait after its next visit.
func (r *Ring) rest(t *task) int64 {
	if t.hasShortcut() {
		return int64(t.diff &^ hasShortcut)
	}
	return int64(t.circle)<<(r.shift&63) + int64(t.diff)
}

// split divides a wait in ticks, which is not negative, into whole revolutions
// and the rest.
func (r *Ring) split(wait int64) (circle uint32, diff uint16) {
	return uint32(min(wait>>(r.shift&63), math.MaxUint32)), uint16(wait & (r.slots() - 1))
}

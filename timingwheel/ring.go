package timingwheel

import (
	"fmt"
	"math"
	"math/bits"
)

const (
	// MaxSlots is the most slots a Ring can have: a task keeps its tick modulo
	// twice that in fifteen bits.
	MaxSlots = 1 << 14

	none      = math.MaxUint32 // the end of a list
	linked    = 1 << 15        // set in task.at: the task is in a list
	tombstone = math.MaxUint16 // task.diff of a removed task; diff < MaxSlots
)

// A Ring is one timing wheel: it says which of a set of tasks are due at a
// tick. Tasks are small numbers that the caller hands out, ticks are counted
// by the caller too; a Ring has no lock and no clock. The package comment has
// the algorithm.
//
// A Ring is not safe for concurrent use. Make one with [NewRing].
type Ring struct {
	tasks    []task
	slots    []uint32 // the first task in each slot's list, or none
	occupied []uint64 // a bit per slot: its list is not empty
	shift    uint8    // log2 of the number of slots
	scan     uint32   // what Advance has still to visit at tick now
	now      int64    // T: the tick that is, or was last, processed
	live     int      // tasks that wait for their tick
	removed  int      // tombstones
}

// A task is what the ring keeps for one number, 16 bytes. The zero task is in
// no list.
//
// Invariant R, for a live task:
//
//	due = now + dist(at) + circle·n + diff,  0 <= diff < n
//
// where dist, the ticks until the list that the task is in is visited next, is
// in 1..n, or 0 for a task that Advance has yet to visit at the present tick.
type task struct {
	next, prev uint32 // neighbours in its list, or none
	circle     uint32 // whole revolutions to wait after the next visit
	diff       uint16 // ticks to wait after those; tombstone if it was removed
	// at is the tick of the next visit modulo 2n, with the bit linked set.
	// Modulo n it is the slot; the bit above tells a task that is due for its
	// visit now from one linked into the same slot for a revolution later.
	at uint16
}

// NewRing returns an empty ring of the given number of slots, rounded up to a
// power of two, that stands at tick 0. It has room for no task; Resize makes
// room. It panics if slots is not in 1..MaxSlots.
func NewRing(slots int) *Ring {
	if slots < 1 || slots > MaxSlots {
		panic(fmt.Sprintf("timingwheel: a ring of %d slots: want 1 to %d", slots, MaxSlots))
	}
	shift := bits.Len(uint(slots - 1))
	n := 1 << shift
	r := &Ring{
		shift:    uint8(shift),
		slots:    make([]uint32, n),
		occupied: make([]uint64, (n+63)/64),
		scan:     none,
	}
	for p := range r.slots {
		r.slots[p] = none
	}
	return r
}

// Resize makes room for the task numbers below n. No task at or above n may be
// in the ring, not even as a tombstone; Rename moves tasks and Forget frees
// numbers.
func (r *Ring) Resize(n int) {
	tasks := make([]task, n)
	copy(tasks, r.tasks)
	r.tasks = tasks
}

// Len returns the number of tasks that wait for their tick.
func (r *Ring) Len() int { return r.live }

// Tombstones returns the number of removed tasks that are still in a list.
func (r *Ring) Tombstones() int { return r.removed }

// Now returns the tick that Advance has reached.
func (r *Ring) Now() int64 { return r.now }

// Set makes the task due at the given tick, whether or not it was set before.
// A tick that has been processed already means the next one; one more than
// 2³² revolutions away is cut to that.
//
// A task that is in a list and is visited there before it is due stays where
// it is: only its circle and diff change. The next visit moves it on.
func (r *Ring) Set(i uint32, due int64) {
	wait := max(due-r.now, 1)
	t := &r.tasks[i]
	switch {
	case t.at == 0:
		r.live++
		r.link(i, wait)
	case t.diff == tombstone:
		r.live++
		r.removed--
		r.moveTask(i, wait)
	default:
		r.moveTask(i, wait)
	}
}

// moveTask makes a task that is in a list due wait ticks from now. It compares
// distances from the cursor, never slot numbers: those say nothing about which
// of two slots comes first.
func (r *Ring) moveTask(i uint32, wait int64) {
	t := &r.tasks[i]
	if d := r.dist(t); wait >= d {
		t.circle, t.diff = r.split(wait - d)
		return
	}
	r.unlink(i)
	r.link(i, wait)
}

// Remove takes the task off; it does nothing if the task does not wait. The
// task stays in its list as a tombstone until its next visit, but its number is
// free at once: a new task of that number takes the tombstone over.
func (r *Ring) Remove(i uint32) {
	t := &r.tasks[i]
	if t.at == 0 || t.diff == tombstone {
		return
	}
	t.diff = tombstone
	r.live--
	r.removed++
}

// Due returns the tick at which the task is due, and false if it does not wait.
func (r *Ring) Due(i uint32) (int64, bool) {
	t := &r.tasks[i]
	if t.at == 0 || t.diff == tombstone {
		return 0, false
	}
	return r.now + r.dist(t) + int64(t.circle)*int64(len(r.slots)) + int64(t.diff), true
}

// Forget takes the task out of the ring and leaves no tombstone.
func (r *Ring) Forget(i uint32) {
	t := &r.tasks[i]
	if t.at == 0 {
		return
	}
	if t.diff == tombstone {
		r.removed--
	} else {
		r.live--
	}
	r.unlink(i)
}

// Rename gives the task from the number to, which must not be live. What to
// has left of a tombstone is dropped.
func (r *Ring) Rename(from, to uint32) {
	r.Forget(to)
	t := r.tasks[from]
	if t.at == 0 {
		return
	}
	r.tasks[from] = task{}
	r.tasks[to] = t
	r.setNext(t.prev, &t, to)
	if t.next != none {
		r.tasks[t.next].prev = to
	}
}

// Advance moves the ring on to the given tick, tick by tick, and hands every
// task that is due on the way to visit, which returns 0 if it has done with it
// and k > 0 to have it again k ticks later. It returns true once the tick is
// reached, and false if it stopped because it had visited budget tasks; the
// next call goes on from there, and Set and Remove may be used in between.
// Ticks without tasks cost next to nothing, so a ring that was not advanced
// for a long time catches up quickly and skips nothing.
//
// visit may call Set, Remove and Forget for the task it was given, and for any
// other; it must not call Advance, Resize or Rename.
func (r *Ring) Advance(to int64, budget int, visit func(i uint32) (again int64)) bool {
	for {
		for r.scan != none {
			if budget == 0 {
				return false
			}
			budget--
			r.visit(r.scan, visit)
		}
		if r.now >= to {
			return true
		}
		r.now = min(to, r.nextVisit())
		p := r.slot(r.now)
		r.scan = r.slots[p]
		r.slots[p] = none
		r.occupied[p/64] &^= 1 << (p % 64)
	}
}

// NextVisit returns the tick at which Advance will next find a task or a
// tombstone in a slot, which is never after the next task is due. It reports
// false if the ring is empty.
func (r *Ring) NextVisit() (int64, bool) {
	if r.scan != none {
		return r.now, true
	}
	at := r.nextVisit()
	return at, at != math.MaxInt64
}

// visit deals with task i, the first of the list being scanned. All its
// branches but the last are the repairs that moveTask and Remove left undone.
func (r *Ring) visit(i uint32, due func(uint32) int64) {
	t := &r.tasks[i]
	circle, diff := t.circle, t.diff
	r.unlink(i)
	switch {
	case diff == tombstone:
		r.removed--
	case circle > 0:
		r.linkAt(i, int64(len(r.slots)), circle-1, diff)
	case diff > 0:
		r.linkAt(i, int64(diff), 0, 0)
	default:
		r.live--
		if again := due(i); again > 0 {
			r.Set(i, r.now+again)
		}
	}
}

// link puts a task that is in no list into the slot in which it is due, wait
// ticks from now, counting whole revolutions in circle.
func (r *Ring) link(i uint32, wait int64) {
	circle, ticks := r.split(wait - 1)
	r.linkAt(i, int64(ticks)+1, circle, 0)
}

// linkAt puts a task that is in no list into the slot visited dist ticks from
// now, 1 <= dist <= n.
func (r *Ring) linkAt(i uint32, dist int64, circle uint32, diff uint16) {
	at := r.now + dist
	p := r.slot(at)
	next := r.slots[p]
	r.tasks[i] = task{
		next:   next,
		prev:   none,
		circle: circle,
		diff:   diff,
		at:     linked | uint16(at&int64(2*len(r.slots)-1)),
	}
	if next != none {
		r.tasks[next].prev = i
	}
	r.slots[p] = i
	r.occupied[p/64] |= 1 << (p % 64)
}

func (r *Ring) unlink(i uint32) {
	t := &r.tasks[i]
	r.setNext(t.prev, t, t.next)
	if t.next != none {
		r.tasks[t.next].prev = t.prev
	}
	*t = task{}
}

// setNext makes next follow prev in the list of t; prev none stands for the
// head of that list.
func (r *Ring) setNext(prev uint32, t *task, next uint32) {
	switch {
	case prev != none:
		r.tasks[prev].next = next
	case r.dist(t) == 0:
		r.scan = next
	default:
		p := r.slot(int64(t.at))
		r.slots[p] = next
		if next == none {
			r.occupied[p/64] &^= 1 << (p % 64)
		}
	}
}

// dist returns the ticks until the list that t is in is visited, 0..n.
func (r *Ring) dist(t *task) int64 {
	return (int64(t.at) - r.now) & int64(2*len(r.slots)-1)
}

// slot returns the slot that is visited at a tick.
func (r *Ring) slot(tick int64) int { return int(tick & int64(len(r.slots)-1)) }

// split divides a wait in ticks, which is not negative, into whole revolutions
// and the rest.
func (r *Ring) split(wait int64) (circle uint32, diff uint16) {
	return uint32(min(wait>>r.shift, math.MaxUint32)), uint16(wait & int64(len(r.slots)-1))
}

// nextVisit returns the first tick after now whose slot is not empty, or
// math.MaxInt64 if all are.
func (r *Ring) nextVisit() int64 {
	n := int64(len(r.slots))
	for d := int64(1); d <= n; {
		p := r.slot(r.now + d)
		if rest := r.occupied[p/64] >> (p % 64); rest != 0 {
			return r.now + d + int64(bits.TrailingZeros64(rest))
		}
		d += min(64-int64(p%64), n-int64(p)) // to the next word, or round to slot 0
	}
	return math.MaxInt64
}

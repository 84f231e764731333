package ring

import (
	"fmt"
	"math"
	"math/bits"
)

const (
	// MaxSlots is the most slots a Ring can have: a task keeps its next visit
	// modulo twice that in fourteen bits.
	MaxSlots = 1 << 13

	// Hold is what a visit function returns to put a task into the due list.
	Hold = -1

	tombstone = math.MaxUint16 // task.diff of a removed task; diff < MaxSlots
)

// A Ring is a timing wheel of two levels: it says which of a set of tasks are
// due at a tick. The caller numbers the tasks, from 0 up, and counts the ticks; a
// Ring has no lock and no clock. The package comment describes the algorithm.
//
// A Ring is not safe for concurrent use. Make one with [New].
type Ring struct {
	tasks     []task
	levels    [2]level // the circle and the overflow level
	due       dueList
	shift     uint8   // log2 of the number of slots of a level
	now       int64   // T: the tick that is, or was last, processed
	ahead     lookout // of Ahead
	heldAhead lookout // of HeldAhead
	read      int     // visits until readAhead is due again
	sink      uint64  // what HeldAhead has read; the value means nothing
	live      int     // tasks that wait for their tick or are in the due list
	removed   int     // tombstones

	visits, relinks uint64 // see Counts
}

// A task is what the ring keeps for one number, 16 bytes. The zero task is in
// no list.
//
// Invariant R, for a live task in a slot:
//
//	due = now + dist + circle·n + diff,  0 <= diff < n
//
// where dist is the number of ticks until the next visit of the task's list. It is
// positive, or 0 for a task that Advance has yet to visit at the present tick.
type task struct {
	next, prev uint32 // neighbours in its list, or none; in the due list, next is its place
	circle     uint32 // revolutions to wait after the next visit; or see the methods shortcut and dueBits
	diff       uint16 // ticks to wait after those, with a flag: hasShortcut; tombstone if it was removed
	at         uint16 // which list it is in: see inCircle
}

// New returns an empty ring that stands at tick 0, with the given number of
// slots to a level, rounded up to a power of two. It has room for no task;
// Resize makes room. It panics if slots is not in 1..MaxSlots.
func New(slots int) *Ring {
	if slots < 1 || slots > MaxSlots {
		panic(fmt.Sprintf("ring: a ring of %d slots: want 1 to %d", slots, MaxSlots))
	}
	r := &Ring{shift: uint8(bits.Len(uint(slots - 1)))}
	for l := range r.levels {
		r.levels[l].scan = none
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
	r.makeDue(2 * r.due.len)
}

// Len returns the number of tasks that wait for their tick or are in the due list.
func (r *Ring) Len() int { return r.live }

// Held returns the number of tasks in the due list.
func (r *Ring) Held() int { return r.due.len }

// Tombstones returns the number of removed tasks that are still in a slot.
func (r *Ring) Tombstones() int { return r.removed }

// Counts returns, since New, how many tasks and tombstones Advance has visited, and how many
// tasks were linked into another slot: by a Set to a tick before their next visit, by a visit before
// their time, or as the visit function asked for another visit. A Set to a later tick adds to neither.
func (r *Ring) Counts() (visits, relinks uint64) { return r.visits, r.relinks }

// Now returns the tick that Advance has reached.
func (r *Ring) Now() int64 { return r.now }

// Set makes the task due at the given tick, whether or not it was set before.
// A tick that has been processed already means the next one. A tick more
// than 2³² revolutions away is cut to that distance.
//
// A task that is in a slot and is visited there before it is due stays where it
// is: only its circle and diff change. The next visit moves it on.
//
// Set returns the tick of the next visit, as [Ring.Visit] does.
func (r *Ring) Set(i uint32, due int64) (visit int64) {
	due = max(due, r.now+1)
	t := &r.tasks[i]
	switch {
	case t.at == 0:
		r.live++
		return r.link(i, due)
	case t.diff == tombstone:
		r.live++
		r.removed--
		t.circle, t.diff = 0, 0
		if visit, ok := r.postpone(i, due); ok {
			return visit
		}
		r.unlink(i)
		return r.link(i, due)
	}
	return r.moveTask(i, due)
}

// Postpone is Set for a task that can stay in its slot, as its next visit is not after the given
// tick: no visit comes earlier than before. For any other task it does nothing and returns false.
func (r *Ring) Postpone(i uint32, due int64) bool {
	if t := &r.tasks[i]; t.at == 0 || t.diff == tombstone {
		return false
	}
	_, ok := r.postpone(i, max(due, r.now+1))
	return ok
}

// moveTask makes a task that is in a list due at another tick. It compares
// distances from the cursor: slot numbers do not say which of two slots comes first.
// So it need not know the level of the slot either.
func (r *Ring) moveTask(i uint32, due int64) (visit int64) {
	if visit, ok := r.postpone(i, due); ok {
		return visit
	}
	if r.tasks[i].list() != inDue {
		r.relinks++
	}
	r.unlink(i)
	return r.link(i, due)
}

// postpone is moveTask of a task that stays in its slot, as it is visited there before it is due.
// For another one it returns false.
func (r *Ring) postpone(i uint32, due int64) (visit int64, ok bool) {
	t := &r.tasks[i]
	if t.list() == inDue {
		return 0, false
	}
	visit = r.now + r.dist(t)
	rest := due - visit
	if rest < 0 {
		return 0, false
	}
	t.setRest(r.split(rest))
	return visit, true
}

// Remove removes the task; it does nothing if the task does not wait. A task in a
// slot stays there as a tombstone until its next visit, but its number is free at
// once: a new task of that number takes the tombstone over.
func (r *Ring) Remove(i uint32) {
	t := &r.tasks[i]
	switch {
	case t.at == 0 || t.diff == tombstone:
	case t.list() == inDue:
		r.live--
		r.unlink(i)
	default:
		r.live--
		r.removed++
		t.diff = tombstone
	}
}

// Take removes from the ring the task that Oldest returns.
func (r *Ring) Take() (i uint32, due int64, ok bool) {
	if i, due, ok = r.Oldest(); ok {
		r.heldAhead.left--
		r.Forget(i)
	}
	return i, due, ok
}

// Due returns the tick at which the task is due, or was if it is in the due
// list, and false if it does not wait.
func (r *Ring) Due(i uint32) (int64, bool) {
	t := &r.tasks[i]
	switch {
	case t.at == 0 || t.diff == tombstone:
		return 0, false
	case t.list() == inDue:
		return r.dueTick(t), true
	}
	return r.now + r.dist(t) + r.rest(t), true
}

// Visit returns the tick of Advance's next visit to the task, at or before the tick at
// which it is due, and false if it does not wait for a tick.
func (r *Ring) Visit(i uint32) (int64, bool) {
	t := &r.tasks[i]
	if t.at == 0 || t.diff == tombstone || t.list() == inDue {
		return 0, false
	}
	return r.now + r.dist(t), true
}

// Forget removes the task without leaving a tombstone.
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

// Rename moves the task from number from to number to. The task to must not be live; its
// tombstone is dropped.
func (r *Ring) Rename(from, to uint32) {
	r.Forget(to)
	t := r.tasks[from]
	if t.at == 0 {
		return
	}
	r.tasks[from] = task{}
	r.tasks[to] = t
	if t.list() == inDue {
		*r.due.at(t.place()) = to
		return
	}
	r.setNext(t.prev, &t, to)
	r.setPrev(t.next, to)
}

// Advance moves the ring on to the given tick and calls visit for every task that is
// due on the way. visit returns 0 to end the task, k > 0 to make it due again k ticks
// later, and [Hold] to put it into the due list, until Take, Set, Remove or Forget
// takes it out. Advance returns true once the tick is reached, and false if it stopped
// after visiting budget tasks; the next call goes on from there, and Set and Remove
// may be used in between. Ticks without tasks cost next to nothing, so a ring that
// was not advanced for a long time catches up quickly and skips nothing.
//
// visit may call Set, Remove and Forget for the task it was given, and for any
// other; it must not call Advance, Take, Resize or Rename.
func (r *Ring) Advance(to int64, budget int, visit func(i uint32) (again int64)) bool {
	return r.advance(to, budget, visit, false)
}

// AdvanceAll is Advance for a caller that keeps the deadlines of tasks itself, and
// may have changed them without calling Set: it calls visit for every task in the
// slots that it passes, due or not. [Ring.Visit] says when it passes a task.
func (r *Ring) AdvanceAll(to int64, budget int, visit func(i uint32) (again int64)) bool {
	return r.advance(to, budget, visit, true)
}

func (r *Ring) advance(to int64, budget int, visit func(i uint32) (again int64), all bool) bool {
	for {
		for i := r.scanned(); i != none; i = r.scanned() {
			if budget == 0 {
				return false
			}
			budget--
			if r.read == 0 {
				r.read = r.readAhead(i)
			}
			r.read--
			r.visit(i, visit, all)
		}
		if r.now >= to {
			return true
		}
		r.step(min(to, r.nextVisit()))
	}
}

// step moves the cursor to a tick and moves the lists of its slots to scan. So a task
// linked meanwhile, into the same slot for a revolution later, is not visited now.
func (r *Ring) step(now int64) {
	r.now, r.read = now, 0
	r.levels[0].detach(now)
	if now&(r.slots()-1) == 0 {
		r.levels[1].detach(now >> r.shift)
	}
}

// visit visits task i, the first of a list being scanned. It finishes what moveTask
// and Remove deferred: it drops a tombstone, and links a task that is not due into its
// slot. If all is set, due also decides whether a task is due.
func (r *Ring) visit(i uint32, due func(uint32) int64, all bool) {
	t := r.tasks[i]
	r.unlink(i)
	r.ahead.left--
	r.visits++
	switch {
	case t.diff == tombstone:
		r.removed--
	case !all && r.rest(&t) > 0:
		r.relinks++
		r.link(i, r.now+r.rest(&t))
	default:
		r.live--
		switch again := due(i); {
		case again > 0:
			r.relinks++
			r.Set(i, r.now+again)
		case again == Hold:
			r.Forget(i) // if the visitor has set it again
			r.live++
			r.hold(i)
		}
	}
}

// NextVisit returns the tick at which Advance will next find a task or a
// tombstone in a slot. No task in a slot is due before it. NextVisit returns false if
// the slots are empty.
func (r *Ring) NextVisit() (int64, bool) {
	if r.scanned() != none {
		return r.now, true
	}
	at := r.nextVisit()
	return at, at != math.MaxInt64
}

// nextVisit returns the first tick after now at which a slot is not empty, or
// math.MaxInt64 if all are.
func (r *Ring) nextVisit() int64 {
	at := r.levels[0].nextVisit(r.now)
	if over := r.levels[1].nextVisit(r.now >> r.shift); over != math.MaxInt64 {
		at = min(at, over<<r.shift)
	}
	return at
}

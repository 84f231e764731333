package ring

import "math/bits"

// A dueList holds the tasks that are due and not taken yet, the oldest first. It has their
// numbers side by side, so that the memory of many can be read at once. A task that is
// removed or moved leaves at once. Its place stays empty until the list is empty or made
// anew.
type dueList struct {
	places     []uint32 // task numbers, or none; their number is a power of two, or 0
	head, tail uint32   // the first place in use and the one after the last, modulo len(places)
	len        int      // tasks
}

// fewDue is the number of places of a short due list.
const fewDue = 8

// at returns a place.
func (d *dueList) at(place uint32) *uint32 { return &d.places[place&uint32(len(d.places)-1)] }

// leave empties a place.
func (d *dueList) leave(place uint32) {
	*d.at(place) = none
	d.len--
	if d.len == 0 {
		d.head = d.tail
	}
}

// full reports whether no place after the last task is free.
func (d *dueList) full() bool { return int(d.tail-d.head) == len(d.places) }

// place returns the place of a task in the due list.
func (t *task) place() uint32 { return t.next }

// hold appends a task that is in no list to the due list.
func (r *Ring) hold(i uint32) {
	d := &r.due
	if d.full() {
		r.makeDue(max(fewDue, 2*d.len))
	}
	r.tasks[i] = task{next: d.tail, prev: none, circle: uint32(r.now), at: inDue}
	*d.at(d.tail) = i
	d.tail++
	d.len++
}

// makeDue makes the due list anew, with at least the given number of places and without
// empty ones between the tasks.
func (r *Ring) makeDue(places int) {
	old := r.due
	r.due = dueList{places: make([]uint32, 1<<bits.Len(uint(places-1))), len: old.len} // none if places is 0
	for place := old.head; place != old.tail; place++ {
		if i := *old.at(place); i != none {
			*r.due.at(r.due.tail) = i
			r.tasks[i].next = r.due.tail
			r.due.tail++
		}
	}
}

// dueTick returns the tick at which a task in the due list was due, at most 2³²
// ticks ago.
func (r *Ring) dueTick(t *task) int64 { return r.now - int64(uint32(r.now)-t.dueBits()) }

// dueBits returns the low half of that tick, which is in the place of the circle.
func (t *task) dueBits() uint32 { return t.circle }

// Oldest returns the task that has been in the due list for longest, and the tick at which
// it was due. It reports false if there is none.
func (r *Ring) Oldest() (i uint32, due int64, ok bool) {
	d := &r.due
	if d.len == 0 {
		return 0, 0, false
	}
	for i = *d.at(d.head); i == none; i = *d.at(d.head) {
		d.head++
	}
	return i, r.dueTick(&r.tasks[i]), true
}

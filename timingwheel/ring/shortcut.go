package ring

// The list of a slot is a chain: a task leads to the next one only when it has come from
// memory. So a task has a shortcut to the next milestone of its list, which is one task in
// eight. The shortcut is in the field circle if the task has no circle to wait. readAhead
// follows the shortcuts, and then the stretches between the milestones side by side. (Jump
// pointers: Roth and Sohi, "Effective Jump-Pointer Prefetching for Linked Data Structures",
// 1999.)
//
// A shortcut is a hint: its milestone may have left the list or have another number now.

const (
	hasShortcut = 1 << 15 // in task.diff, except that of a tombstone: the field circle is a shortcut, and the circle 0

	stretches  = 16 // that readAhead follows at once
	stretchMax = 16 // tasks of each
)

// milestone reports whether task i is a milestone. It hashes i, as the numbers in a list may
// be regular.
func milestone(i uint32) bool { return i*0x9E3779B1>>29 == 0 }

// shortcut returns the shortcut for a task that precedes task next.
func (r *Ring) shortcut(next uint32) uint32 {
	if next == none || milestone(next) {
		return next
	}
	if t := &r.tasks[next]; t.hasShortcut() {
		return t.shortcut()
	}
	return next
}

func (t *task) hasShortcut() bool { return t.diff&hasShortcut != 0 && t.diff != tombstone }

// shortcut returns the shortcut of a task that has one, which is in the place of its circle.
func (t *task) shortcut() uint32 { return t.circle }

// setRest sets how long t, which is no tombstone, has to wait after its next visit. Its shortcut stays
// if circle is 0.
func (t *task) setRest(circle uint32, diff uint16) {
	if circle == 0 && t.diff&hasShortcut != 0 {
		t.diff = diff | hasShortcut
		return
	}
	t.circle, t.diff = circle, diff
}

// readAhead reads the tasks from task i on, about a hundred, and returns how many.
func (r *Ring) readAhead(i uint32) (read int) {
	var at, end [stretches]uint32
	n := r.starts(i, &at)
	copy(end[:], at[1:n])
	end[n-1] = none
	for range stretchMax {
		reading := 0
		for s := range n {
			if at[s] != none {
				reading++
				if at[s] = r.tasks[at[s]].next; at[s] == end[s] {
					at[s] = none
				}
			}
		}
		read += reading
		if reading == 0 {
			break
		}
	}
	return read
}

// starts follows the shortcuts from task i on as long as they stay in its list. It puts the
// tasks into at and returns their number.
func (r *Ring) starts(i uint32, at *[stretches]uint32) (n int) {
	list := r.tasks[i].at
	for n < stretches && i < uint32(len(r.tasks)) && r.tasks[i].at == list {
		at[n] = i
		n++
		if t := &r.tasks[i]; t.hasShortcut() {
			i = t.shortcut()
		} else {
			i = t.next
		}
	}
	return n
}

package ring

// Lookahead is the most tasks that Ahead and HeldAhead return at once.
const Lookahead = 16

// A lookout returns the next tasks of a list, several at a time.
type lookout struct {
	left int // tasks to go before the next look
	next [Lookahead]uint32
}

// Ahead returns the tasks that Advance visits next at this tick, tombstones among them, or
// none if it has returned them already. The visit function may call it, and read what it
// will need of them: waiting for memory once for each takes several times as long. The
// result is valid until the next call.
func (r *Ring) Ahead() []uint32 {
	return r.ahead.look(r.tasks, r.scanned())
}

// HeldAhead returns the tasks that Take takes next, or none if it has returned them already,
// as Ahead does.
func (r *Ring) HeldAhead() []uint32 {
	l := &r.heldAhead
	if l.left > 0 {
		return nil
	}
	n := 0
	for place := r.due.head; place != r.due.tail && n < Lookahead; place++ {
		if i := *r.due.at(place); i != none {
			l.next[n] = i
			n++
			r.sink += uint64(r.tasks[i].at)
		}
	}
	l.left = n
	return l.next[:n]
}

// look returns tasks of the list that begins with task i.
func (l *lookout) look(tasks []task, i uint32) []uint32 {
	if l.left > 0 {
		return nil
	}
	n := 0
	for ; i != none && n < Lookahead; i = tasks[i].next {
		l.next[n] = i
		n++
	}
	l.left = n
	return l.next[:n]
}

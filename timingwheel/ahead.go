package timingwheel

// lookahead is for how many tasks at once memory is read.
const lookahead = 16

// A lookout returns the tasks that Advance visits next, several at a time.
type lookout struct {
	left int // tasks to visit before the next look
	next [lookahead]uint32
}

// Ahead returns the tasks that Advance visits next at this tick, tombstones among them, or
// none if it has returned them already. The visit function may call it, and read what it
// will need of them: waiting for memory once for each takes several times as long. The
// result is valid until the next call.
func (r *Ring) Ahead() []uint32 {
	if r.ahead.left > 0 {
		return nil
	}
	n := 0
	for i := r.scanned(); i != none && n < lookahead; i = r.tasks[i].next {
		r.ahead.next[n] = i
		n++
	}
	r.ahead.left = n
	return r.ahead.next[:n]
}

package eviction

import "iter"

// All returns an iterator over the order, regardless of marks: small, then main, each
// from the oldest entry to the newest. The order must not change meanwhile.
func (a *Adaptive) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if a.links == nil {
			return
		}
		for q := range queues {
			for p := a.links[q].next; p != q; p = a.links[p].next {
				if p >= firstEntry && !yield(p-firstEntry) {
					return
				}
			}
		}
	}
}

// First returns the first entry of All, or false if there is none.
func (a *Adaptive) First() (i uint32, ok bool) {
	if a.links == nil {
		return 0, false
	}
	return a.from(small, a.links[small].next)
}

// After returns the entry that follows entry i in All, or false if there is none. Entry i
// must be in the order.
func (a *Adaptive) After(i uint32) (j uint32, ok bool) {
	at := a.links[i+firstEntry]
	return a.from(at.ring(), at.next)
}

// from returns the entry at position p of queue q, or if that is no entry the first one after it.
// Main follows small.
func (a *Adaptive) from(q, p uint32) (i uint32, ok bool) {
	for {
		switch {
		case p >= firstEntry:
			return p - firstEntry, true
		case p != q: // a checkpoint
			p = a.links[p].next
		case q == main:
			return 0, false
		default:
			q = main
			p = a.links[main].next
		}
	}
}

// Heat returns the marks of entry i, and at least 1 if it is in main: with a mark, another Adaptive
// soon moves it to its own main.
func (a *Adaptive) Heat(i uint32) uint8 {
	return max(a.marks.get(i), uint8(a.queueOf(i+firstEntry)))
}

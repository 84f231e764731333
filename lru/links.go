package lru

// A link has the positions of the next newer and the next older link.
type link struct{ next, prev uint32 }

// links are doubly linked rings of positions. A ring has a sentinel, so that neither end
// is a special case: its next is the oldest position and its prev the newest. The link of
// a position outside the rings means nothing.
type links []link

// pushNewest adds position p to the ring of a sentinel, as the newest.
func (l links) pushNewest(sentinel, p uint32) {
	newest := l[sentinel].prev
	l[p] = link{next: sentinel, prev: newest}
	l[newest].next = p
	l[sentinel].prev = p
}

func (l links) unlink(p uint32) {
	at := l[p]
	l[at.prev].next = at.next
	l[at.next].prev = at.prev
}

// rename puts position to in place of from.
func (l links) rename(from, to uint32) {
	at := l[from]
	l[to] = at
	l[at.prev].next = to
	l[at.next].prev = to
}

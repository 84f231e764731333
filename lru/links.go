package lru

// A link holds positions in links: which is next on the way from the oldest to
// the newest, and which is before.
type link struct{ next, prev uint32 }

// links holds rings of positions. A ring has a sentinel, so that neither end is a
// special case: from it, next leads to the oldest position and prev to the newest.
// What a position outside the rings holds means nothing.
type links []link

// pushNewest puts position p into the ring of a sentinel.
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

// rename has position to stand where from does.
func (l links) rename(from, to uint32) {
	at := l[from]
	l[to] = at
	l[at.prev].next = to
	l[at.next].prev = to
}

package eviction

// A link has the positions of the next newer and the next older link. The highest bit of
// prev is the number of the ring, so that one read gets it too.
type link struct{ next, prev uint32 }

const (
	ringBit   = 31
	positions = 1 << ringBit // there are fewer
)

func (at link) ring() uint32 { return at.prev >> ringBit }

func (at link) older() uint32 { return at.prev % positions }

// links are one or two doubly linked rings of positions, numbered 0 and 1. Position r is the
// sentinel of ring r, so that neither end is a special case: its next is the oldest position
// and its prev the newest. The link of a position outside the rings means nothing.
type links []link

// pushNewest adds position p to a ring as the newest.
func (l links) pushNewest(ring, p uint32) {
	newest := l[ring].prev
	l[p] = link{next: ring, prev: newest}
	l[newest%positions].next = p
	l[ring].prev = p | ring<<ringBit
}

func (l links) unlink(p uint32) {
	at := l[p]
	l[at.older()].next = at.next
	l[at.next].prev = at.prev
}

// rename puts position to in the place of position from.
func (l links) rename(from, to uint32) {
	at := l[from]
	l[to] = at
	l[at.older()].next = to
	l[at.next].prev = to | at.ring()<<ringBit
}

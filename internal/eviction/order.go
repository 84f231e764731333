package eviction

import "iter"

// maxMoves is how many marked entries Victim moves to the newest end. Then it returns the next
// entry, marked or not. So an eviction is short even after a long time of reads alone. On seven
// real traces the hit ratio is that without a bound; with 32, one trace loses a tenth of a point.
const maxMoves = 128

// An Order is a [Policy] that evicts the least recently used entry, nearly: see the
// package. It knows entries by their slot numbers only.
//
// The zero Order is empty and has room for no entry; Resize makes room. An
// Order must not be copied after first use.
//
// Mark may be called by any number of goroutines at once. Every other method needs
// exclusive access: not even Mark may run concurrently.
type Order struct {
	// links[0] is the sentinel, links[i+1] belongs to entry i.
	links links
	marks Marks
	len   int
	ahead lookout
	left  int // entries that must leave the oldest end before Ahead returns more
}

// Len returns the number of entries in the order.
func (o *Order) Len() int { return o.len }

// Resize makes room for the slot numbers below n and keeps the order, which must hold no
// entry at or above n.
func (o *Order) Resize(n int) {
	links := make(links, n+1)
	copy(links, o.links)
	o.links = links
	o.marks.resize(n)
}

// Insert adds entry i, which must not be in the order, as the newest one, without a mark.
func (o *Order) Insert(i uint32, _ uint64) {
	o.links.pushNewest(0, i+1)
	o.marks.clear(i)
	o.len++
}

// Weigh does nothing: an Order does not need the weights.
func (o *Order) Weigh([]uint32) {}

// Reweigh does nothing.
func (o *Order) Reweigh(uint32, uint32) {}

// Marks returns the marks of the entries.
func (o *Order) Marks() *Marks { return &o.marks }

// Mark notes a hit of entry i, as [Marks.Mark] does.
func (o *Order) Mark(i uint32) { o.marks.Mark(i) }

// Promote returns false: every victim is evicted. An Order does not remember its key.
func (o *Order) Promote(uint32, uint64) bool { return false }

// Ahead returns the entries that are evicted next, or none if it has returned them already.
// See [Policy].
func (o *Order) Ahead() []Next {
	if o.left > 0 || o.links == nil {
		return nil
	}
	o.left = lookahead
	return o.ahead.oldest(o.links, 0, 1, &o.marks)
}

// Prefetch reads nothing: to evict, an Order needs only its links.
func (o *Order) Prefetch([]Next) uint64 { return 0 }

// Remove removes entry i, which must be in the order.
func (o *Order) Remove(i uint32) {
	o.links.unlink(i + 1)
	o.len--
	o.left--
}

// Replace makes entry i the newest one, without a mark. It must be in the order.
func (o *Order) Replace(i uint32, _ uint64) {
	o.links.unlink(i + 1)
	o.links.pushNewest(0, i+1)
	o.marks.clear(i)
	o.left--
}

// Victim returns the entry to evict, or false if the order is empty. The entry stays in the order.
//
// Hits take effect here: a marked entry that Victim meets loses a mark and becomes the
// newest.
func (o *Order) Victim() (i uint32, ok bool) {
	if o.len == 0 {
		return 0, false
	}
	for range maxMoves {
		oldest := o.links[0].next
		if !o.marks.take(oldest - 1) {
			break
		}
		o.links.unlink(oldest)
		o.links.pushNewest(0, oldest)
		o.left--
	}
	return o.links[0].next - 1, true
}

// Rename moves an entry from slot from, which must be in the order, to slot to, which must not. The
// entry keeps its position and its mark.
func (o *Order) Rename(from, to uint32) {
	o.links.rename(from+1, to+1)
	o.marks.copy(from, to)
}

// Split returns an empty Order with room for the slot numbers below n.
func (o *Order) Split(n int) Policy {
	part := new(Order)
	part.Resize(n)
	return part
}

// Adopt adds entry i, which must not be in the order, as the newest one, with the mark
// of entry from in another Order.
func (o *Order) Adopt(i uint32, other Policy, from uint32) {
	o.Insert(i, 0)
	o.marks.set(i, uint32(other.Marks().get(from)))
}

// All returns an iterator over the order from the oldest entry to the newest, regardless
// of marks. The order must not change meanwhile.
func (o *Order) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if o.len == 0 {
			return
		}
		for p := o.links[0].next; p != 0; p = o.links[p].next {
			if !yield(p - 1) {
				return
			}
		}
	}
}

// First returns the oldest entry, or false if there is none.
func (o *Order) First() (i uint32, ok bool) {
	if o.len == 0 {
		return 0, false
	}
	return o.links[0].next - 1, true
}

// After returns the next newer entry after entry i, which must be in the order, or false if i is
// the newest.
func (o *Order) After(i uint32) (j uint32, ok bool) {
	next := o.links[i+1].next
	return next - 1, next != 0
}

// Heat returns the marks of entry i.
func (o *Order) Heat(i uint32) uint8 { return o.marks.get(i) }

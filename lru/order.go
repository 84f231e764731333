package lru

import "iter"

// patience is how many marked entries Victim moves on before it takes the next
// one whatever its mark, so that an eviction after a long time of reads alone
// costs a bounded walk and not a sweep of everything. On seven real traces 128
// has the hit ratio of no bound at all; 32 costs a tenth of a point on one of
// them.
const patience = 128

// An Order is the [Policy] that evicts what was not used for longest. It knows
// entries by their slot numbers only.
//
// The zero Order is empty and has room for no entry; Resize makes room. An
// Order must not be copied after first use.
//
// Mark may be called by any number of goroutines at once. Every other method
// needs the Order for itself: no Mark may run beside it.
type Order struct {
	// links[0] is the sentinel, links[i+1] belongs to entry i.
	links links
	marks Marks
	len   int
}

// Len returns the number of entries in the order.
func (o *Order) Len() int { return o.len }

// Resize makes room for the slot numbers below n, keeping the order. No entry
// at or above n may be in it.
func (o *Order) Resize(n int) {
	links := make(links, n+1)
	copy(links, o.links)
	o.links = links
	o.marks.resize(n)
}

// Insert adds entry i, which must not be in the order, as the newest one and
// without a mark.
func (o *Order) Insert(i uint32, _ uint64) {
	o.links.pushNewest(0, i+1)
	o.marks.clear(i)
	o.len++
}

// Marks returns the marks of the entries.
func (o *Order) Marks() *Marks { return &o.marks }

// Mark notes a hit of entry i, as [Marks.Mark] does.
func (o *Order) Mark(i uint32) { o.marks.Mark(i) }

// Spare returns false: all victims go.
func (o *Order) Spare(uint32, uint64) bool { return false }

// Evict takes entry i, which must be in the order, out of it. Nothing is remembered
// of its key.
func (o *Order) Evict(i uint32, _ uint64) { o.Remove(i) }

// Remove takes entry i, which must be in the order, out of it.
func (o *Order) Remove(i uint32) {
	o.links.unlink(i + 1)
	o.len--
}

// Victim returns the entry to evict next and leaves it in the order. It
// reports false if the order is empty.
//
// This is where hits take effect: a marked entry that Victim meets loses one
// mark and becomes the newest instead.
func (o *Order) Victim() (i uint32, ok bool) {
	if o.len == 0 {
		return 0, false
	}
	for range patience {
		oldest := o.links[0].next
		if !o.marks.take(oldest - 1) {
			break
		}
		o.links.unlink(oldest)
		o.links.pushNewest(0, oldest)
	}
	return o.links[0].next - 1, true
}

// Rename gives entry from, which must be in the order, the slot number to,
// which must not. Its place and its mark stay.
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
// of entry from of another Order.
func (o *Order) Adopt(i uint32, other Policy, from uint32) {
	o.Insert(i, 0)
	o.marks.set(i, uint32(other.Marks().get(from)))
}

// All returns an iterator over the order from the oldest entry to the newest,
// marks not regarded. The order must not change meanwhile.
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

// First returns the oldest entry, and false if there is none.
func (o *Order) First() (i uint32, ok bool) {
	if o.len == 0 {
		return 0, false
	}
	return o.links[0].next - 1, true
}

// After returns the entry that is next to entry i, which must be in the order, on the
// way to the newest, and false if i is that.
func (o *Order) After(i uint32) (j uint32, ok bool) {
	next := o.links[i+1].next
	return next - 1, next != 0
}

// Heat returns the marks of entry i.
func (o *Order) Heat(i uint32) uint8 { return o.marks.get(i) }

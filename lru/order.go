package lru

import (
	"iter"
	"sync/atomic"
)

const (
	// maxMark is what two bits hold: an entry is passed over at most this
	// often without another hit.
	maxMark = 3

	// patience is how many marked entries Victim moves on before it takes the
	// next one whatever its mark, so that an eviction after a long time of
	// reads alone costs a bounded walk and not a sweep of everything. On seven
	// real traces 128 has the hit ratio of no bound at all; 32 costs a tenth of
	// a point on one of them.
	patience = 128
)

// An Order is the eviction order of the entries of one cache shard, oldest
// first. It knows entries by their slot numbers only.
//
// The zero Order is empty and has room for no entry; Resize makes room. An
// Order must not be copied after first use.
//
// Mark may be called by any number of goroutines at once. Every other method
// needs the Order for itself: no Mark may run beside it.
type Order struct {
	// links is a ring. links[0] is its sentinel, so that neither end is a
	// special case; links[i+1] belongs to entry i. From the sentinel, next
	// leads to the oldest entry and prev to the newest.
	links []link
	marks marks
	len   int
}

// A link holds positions in Order.links, that is, slot numbers plus one. Those
// of an entry outside the order mean nothing.
type link struct{ next, prev uint32 }

// Len returns the number of entries in the order.
func (o *Order) Len() int { return o.len }

// Resize makes room for the slot numbers below n, keeping the order. No entry
// at or above n may be in it.
func (o *Order) Resize(n int) {
	links := make([]link, n+1)
	copy(links, o.links)
	o.links = links
	o.marks = o.marks.resized(n)
}

// Insert adds entry i, which must not be in the order, as the newest one and
// without a mark.
func (o *Order) Insert(i uint32) {
	o.linkNewest(i + 1)
	o.marks.clear(i)
	o.len++
}

// Mark notes a hit of entry i: eviction will pass it over once more, up to
// three times. It writes nothing for an entry that has its three already, so
// that many readers of a hot entry share its cache line. Of marks set at the
// very same moment some may be lost.
func (o *Order) Mark(i uint32) { o.marks.add(i) }

// Remove takes entry i, which must be in the order, out of it.
func (o *Order) Remove(i uint32) {
	o.unlink(i + 1)
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
		o.unlink(oldest)
		o.linkNewest(oldest)
	}
	return o.links[0].next - 1, true
}

// Renew makes entry i, which must be in the order, the newest one, without a mark.
func (o *Order) Renew(i uint32) {
	o.unlink(i + 1)
	o.linkNewest(i + 1)
	o.marks.clear(i)
}

// Rename gives entry from, which must be in the order, the slot number to,
// which must not. Its place and its mark stay.
func (o *Order) Rename(from, to uint32) {
	l := o.links[from+1]
	o.links[to+1] = l
	o.links[l.prev].next = to + 1
	o.links[l.next].prev = to + 1
	o.marks.copy(from, to)
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

// linkNewest links position p before the sentinel.
func (o *Order) linkNewest(p uint32) {
	newest := o.links[0].prev
	o.links[p] = link{next: 0, prev: newest}
	o.links[newest].next = p
	o.links[0].prev = p
}

func (o *Order) unlink(p uint32) {
	l := o.links[p]
	o.links[l.prev].next = l.next
	o.links[l.next].prev = l.prev
}

// marks holds a two-bit counter per entry, sixteen in a word: dense, so that
// the marks of a whole shard stay in the processor's cache while its entries
// do not. Only add, which may run beside itself, is atomic; the others have the
// marks for themselves.
type marks []uint32

const marksPerWord = 16

func (m marks) at(i uint32) (word *uint32, shift uint32) {
	return &m[i/marksPerWord], i % marksPerWord * 2
}

// add raises mark i by one unless it is at its highest. It gives up rather
// than retry when another goroutine changes the word: the mark is a hint.
func (m marks) add(i uint32) {
	word, shift := m.at(i)
	old := atomic.LoadUint32(word)
	if old>>shift&maxMark < maxMark {
		atomic.CompareAndSwapUint32(word, old, old+1<<shift)
	}
}

// take lowers mark i by one and reports whether it was above zero.
func (m marks) take(i uint32) bool {
	word, shift := m.at(i)
	if *word>>shift&maxMark == 0 {
		return false
	}
	*word -= 1 << shift
	return true
}

func (m marks) clear(i uint32) { m.set(i, 0) }

func (m marks) copy(from, to uint32) {
	word, shift := m.at(from)
	m.set(to, *word>>shift&maxMark)
}

func (m marks) set(i, mark uint32) {
	word, shift := m.at(i)
	*word = *word&^(maxMark<<shift) | mark<<shift
}

func (m marks) resized(n int) marks {
	words := make(marks, (n+marksPerWord-1)/marksPerWord)
	copy(words, m)
	return words
}

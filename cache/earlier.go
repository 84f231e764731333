// This file has the entries whose deadlines were brought forward. When a Set does that, the ring
// may visit the task of the entry too late. To check that at once would read one more cache line,
// after a branch that the processor cannot predict. So overwrite and retime mark the entry, and the
// next tick moves the tasks of all marked entries before it visits those that are due.

package cache

import (
	"math/bits"
	"slices"
	"sync/atomic"
)

// An earlier has a bit for each slot, set if the deadline of its entry was brought forward.
// The slot may have another entry, or none, since.
type earlier struct {
	words  []uint64
	next   int   // the word at which the pass goes on
	passed int64 // the tick in which the last pass ended
}

const bitsPerWord = 64

func newEarlier(slots int) *earlier {
	return &earlier{words: make([]uint64, (slots+bitsPerWord-1)/bitsPerWord)}
}

// mark marks entry i if its new deadline is earlier than the old one. The lock of the shard must be
// held for writing.
func (e *earlier) mark(i uint32, old, deadline int64) {
	// Without a branch, which would wait for the old deadline from memory, and be
	// mispredicted every other time.
	e.words[i/bitsPerWord] |= uint64(deadline-old) >> 63 << (i % bitsPerWord)
}

// note is mark for a reader. It does nothing if there is no earlier.
func (e *earlier) note(i uint32, old, deadline int64) {
	if e == nil {
		return
	}
	word, bit := &e.words[i/bitsPerWord], uint64(deadline-old)>>63<<(i%bitsPerWord)
	if atomic.LoadUint64(word)&bit != bit { // seldom: a bit stays until the next tick
		atomic.OrUint64(word, bit)
	}
}

// pass calls move for the marked entries, at most n of them, and clears their marks. It returns done
// at the end of the pass; the next pass is in the next tick. That is soon enough for a mark made
// behind the pass, as the deadline is later.
func (e *earlier) pass(tick int64, n int, move func(i uint32)) (done bool) {
	for ; e.next < len(e.words); e.next++ {
		for word := &e.words[e.next]; *word != 0; *word &= *word - 1 {
			if n == 0 {
				return false
			}
			n--
			move(uint32(e.next*bitsPerWord + bits.TrailingZeros64(*word)))
		}
	}
	e.next, e.passed = 0, tick
	return true
}

// any reports whether an entry is marked.
func (e *earlier) any() bool {
	return slices.ContainsFunc(e.words, func(word uint64) bool { return word != 0 })
}

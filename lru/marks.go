package lru

import "sync/atomic"

// maxMark is what two bits hold: an entry is passed over at most this often
// without another hit.
const maxMark = 3

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

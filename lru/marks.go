package lru

import "sync/atomic"

// maxMark is what two bits hold: an entry is passed over at most this often
// without another hit.
const maxMark = 3

// Marks holds a two-bit counter per entry, sixteen in a word: dense, so that the
// marks of a whole shard stay in the processor's cache while its entries do not.
type Marks struct{ words []uint32 }

const marksPerWord = 16

// Mark notes a hit of entry i: eviction will pass it over once more, up to three
// times. It writes nothing for an entry that has its three already, so that many
// readers of a hot entry share its cache line.
//
// Mark may be called by any number of goroutines at once, but not beside a method of
// the [Policy] that the marks are of. Of marks set at the very same moment some may
// be lost: rather than try again when another goroutine changes the word, Mark gives
// up, for a mark is a hint.
func (m *Marks) Mark(i uint32) {
	word, shift := m.at(i)
	old := atomic.LoadUint32(word)
	if old>>shift&maxMark < maxMark {
		atomic.CompareAndSwapUint32(word, old, old+1<<shift)
	}
}

func (m *Marks) at(i uint32) (word *uint32, shift uint32) {
	return &m.words[i/marksPerWord], i % marksPerWord * 2
}

// get returns mark i. It may be called beside Mark.
func (m *Marks) get(i uint32) uint8 {
	word, shift := m.at(i)
	return uint8(atomic.LoadUint32(word) >> shift & maxMark)
}

// take lowers mark i by one and reports whether it was above zero.
func (m *Marks) take(i uint32) bool {
	word, shift := m.at(i)
	if *word>>shift&maxMark == 0 {
		return false
	}
	*word -= 1 << shift
	return true
}

func (m *Marks) clear(i uint32) { m.set(i, 0) }

func (m *Marks) copy(from, to uint32) {
	word, shift := m.at(from)
	m.set(to, *word>>shift&maxMark)
}

func (m *Marks) set(i, mark uint32) {
	word, shift := m.at(i)
	*word = *word&^(maxMark<<shift) | mark<<shift
}

func (m *Marks) resize(n int) {
	words := make([]uint32, (n+marksPerWord-1)/marksPerWord)
	copy(words, m.words)
	m.words = words
}

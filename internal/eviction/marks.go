package eviction

import "sync/atomic"

// maxMark is the most that two bits hold, and so how often eviction passes over an entry at most
// without another hit.
const maxMark = 3

// Marks has a counter of two bits for each entry, sixteen to a word. So the marks of a whole shard
// stay in the processor's cache, though its entries do not.
type Marks struct{ words []uint32 }

const marksPerWord = 16

// Mark notes a hit of entry i: eviction passes over it once more, up to three times. Mark writes
// nothing if the entry has three marks, so that all readers of a hot entry share the cache line.
//
// Mark may be called by any number of goroutines at once, but not concurrently with a
// method of the [Policy] that has the marks. If another goroutine changes the word at the
// same moment, Mark gives up: a mark is a hint.
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

// get returns mark i. It may be called concurrently with Mark.
func (m *Marks) get(i uint32) uint8 {
	word, shift := m.at(i)
	return uint8(atomic.LoadUint32(word) >> shift & maxMark)
}

// has reports whether mark i is above zero.
func (m *Marks) has(i uint32) bool {
	word, shift := m.at(i)
	return *word>>shift&maxMark != 0
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

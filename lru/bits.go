package lru

// bits has a bit per entry.
type bits []uint32

const bitsPerWord = 32

func (b bits) get(i uint32) uint32 { return b[i/bitsPerWord] >> (i % bitsPerWord) & 1 }

func (b bits) set(i, bit uint32) {
	word, shift := &b[i/bitsPerWord], i%bitsPerWord
	*word = *word&^(1<<shift) | bit<<shift
}

func (b bits) resized(n int) bits {
	words := make(bits, (n+bitsPerWord-1)/bitsPerWord)
	copy(words, b)
	return words
}

package lru

// A fingerprint is 16 bits of a hash; a word has four, and 0 is none. A key is mistaken for
// another with a probability of 1/65,535 for each fingerprint compared.
const (
	width    = 16
	perWord  = 4
	last     = width * (perWord - 1) // where the last fingerprint of a word begins
	lowest   = 0x0001000100010001    // the lowest bit of every fingerprint
	allLower = 0x7fff7fff7fff7fff    // all bits of every fingerprint but the highest
)

// Keys of a shard have bits of a hash from 8 on in common, and those of a row the highest.
// So a fingerprint is bits 16 to 31, and a row is chosen by the others above.

func fingerprint(h uint64) uint64 { return max(1, h>>16&(1<<width-1)) }

// rowOf returns the row, of n, of a key with hash h.
func rowOf(h uint64, n int) uint64 { return h >> 32 * uint64(n) >> 32 }

// match returns the highest bit of each fingerprint in word that equals f.
func match(word, f uint64) uint64 {
	diff := word ^ f*lowest
	return ^((diff&allLower + allLower) | diff | allLower)
}

// push puts a fingerprint into the lowest bits of a word, and all others one higher.
func push(word, f uint64) uint64 { return word<<width | f }

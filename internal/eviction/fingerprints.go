package eviction

// A fingerprint is 16 bits of a hash. A word has four of them, where 0 means none. Each comparison
// mistakes one key for another with a probability of 1/65,535.
const (
	width    = 16
	perWord  = 4
	last     = width * (perWord - 1) // where the last fingerprint of a word begins
	lowest   = 0x0001000100010001    // the lowest bit of every fingerprint
	allLower = 0x7fff7fff7fff7fff    // all bits of every fingerprint but the highest
)

// The hashes of the keys of a shard have the same bits from bit 8 on, as these choose the shard,
// and the hashes of a row have the same highest bits. So a fingerprint is bits 16 to 31, and the
// bits above choose the row.

func fingerprint(h uint64) uint64 { return max(1, h>>16&(1<<width-1)) }

// rowOf returns the row, of n, of a key with hash h.
func rowOf(h uint64, n int) uint64 { return h >> 32 * uint64(n) >> 32 }

// match returns the highest bit of each fingerprint in word that equals f.
func match(word, f uint64) uint64 {
	diff := word ^ f*lowest
	return ^((diff&allLower + allLower) | diff | allLower)
}

// push returns a word with a fingerprint added as the lowest, and without the highest.
func push(word, f uint64) uint64 { return word<<width | f }

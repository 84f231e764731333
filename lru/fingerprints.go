package lru

// A fingerprint is 16 bits of a hash; a word has four, and 0 is none. A key is mistaken for
// another with a probability of 1/65,535 for each fingerprint compared.
const (
	perWord  = 4
	lowest   = 0x0001000100010001 // the lowest bit of every fingerprint
	allLower = 0x7fff7fff7fff7fff // all bits of every fingerprint but the highest
)

// spread mixes a hash once more: some of its bits are the same in all keys of a shard, or
// of a group of the index.
func spread(h uint64) uint64 { return (h ^ h>>32) * 0x9E3779B97F4A7C15 }

func fingerprint(h uint64) uint64 { return max(1, spread(h)>>16&0xffff) }

// rowOf returns the row, of n, of a key with hash h.
func rowOf(h uint64, n int) uint64 { return spread(h) >> 32 * uint64(n) >> 32 }

// match returns the highest bit of each fingerprint in word that equals f.
func match(word, f uint64) uint64 {
	diff := word ^ f*lowest
	return ^((diff&allLower + allLower) | diff | allLower)
}

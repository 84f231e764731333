package lru

// Fingerprints are 16 bits of a hash, four in a word; 0 is an empty place. One in
// 65,535 strangers is taken for the key, in each place that is looked at.
const (
	perWord  = 4
	lowest   = 0x0001000100010001 // the lowest bit of every fingerprint
	allLower = 0x7fff7fff7fff7fff // all bits of every fingerprint but the highest
)

// spread mixes a hash once more: of its bits, those that are the same in all keys
// of a shard, or of a group of the index, are not to be so here.
func spread(h uint64) uint64 { return (h ^ h>>32) * 0x9E3779B97F4A7C15 }

func fingerprint(h uint64) uint64 { return max(1, spread(h)>>16&0xffff) }

// rowOf returns which of n rows a key with hash h has.
func rowOf(h uint64, n int) uint64 { return spread(h) >> 32 * uint64(n) >> 32 }

// match returns the highest bit of every fingerprint in word that is f.
func match(word, f uint64) uint64 {
	diff := word ^ f*lowest
	return ^((diff&allLower + allLower) | diff | allLower)
}

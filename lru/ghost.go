package lru

import mathbits "math/bits"

// A row is the sixteen latest fingerprints of the keys that share it, the latest
// in the lowest bits of the first word.
type row [4]uint64

const perRow = len(row{}) * perWord

// A ghost remembers the keys added last by their fingerprints. As the keys spread
// over the rows evenly, the place of one in its row tells how many were added
// since, all rows together: its age.
type ghost []row

// newGhost returns a ghost of some n keys.
func newGhost(n int) ghost { return make(ghost, max(1, (n+perRow/2)/perRow)) }

// add remembers a key with hash h, and forgets the oldest of its row.
func (g ghost) add(h uint64) {
	r := &g[rowOf(h, len(g))]
	for k := len(r) - 1; k > 0; k-- {
		r[k] = r[k]<<16 | r[k-1]>>48
	}
	r[0] = r[0]<<16 | fingerprint(h)
}

// take forgets a key with hash h and returns its age.
func (g ghost) take(h uint64) (age int, ok bool) {
	r, f := &g[rowOf(h, len(g))], fingerprint(h)
	for k := range r {
		if at := places(r[k], f); at != 0 {
			place := mathbits.TrailingZeros64(at) / 16
			r[k] &^= 0xffff << (place * 16)
			return ((k*perWord+place)*2 + 1) * len(g) / 2, true
		}
	}
	return 0, false
}

// A recent remembers the keys added last, as a ghost does, but fewer, with rows of
// four fingerprints.
type recent []uint64

// newRecent returns a recent of some n keys.
func newRecent(n int) recent { return make(recent, max(1, n/perWord)) }

func (r recent) add(h uint64) {
	word := &r[rowOf(h, len(r))]
	*word = *word<<16 | fingerprint(h)
}

// take forgets a key with hash h and reports whether it was there.
func (r recent) take(h uint64) bool {
	word := &r[rowOf(h, len(r))]
	at := places(*word, fingerprint(h))
	if at == 0 {
		return false
	}
	*word &^= 0xffff << (mathbits.TrailingZeros64(at) &^ 15)
	return true
}

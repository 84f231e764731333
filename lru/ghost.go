package lru

import mathbits "math/bits"

// A row has the sixteen latest fingerprints of the keys that share it, the latest in the
// lowest bits of the first word.
type row [4]uint64

const perRow = len(row{}) * perWord

// A ghost remembers the keys added last, by their fingerprints. As keys spread evenly over
// the rows, the position of one in its row tells its age: how many keys were added since,
// all rows together.
type ghost []row

// newGhost returns a ghost of about n keys.
func newGhost(n int) ghost { return make(ghost, max(1, (n+perRow/2)/perRow)) }

// add remembers a key with hash h and forgets the oldest of its row.
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
		if at := match(r[k], f); at != 0 {
			place := mathbits.TrailingZeros64(at) / 16
			r[k] &^= 0xffff << (place * 16)
			return ((k*perWord+place)*2 + 1) * len(g) / 2, true
		}
	}
	return 0, false
}

// A recent remembers the keys that each queue gave up last, in rows of four fingerprints.
// The two rows of a key are adjacent.
type recent [][queues]uint64

// newRecent returns a recent of about n keys of each queue.
func newRecent(n int) recent { return make(recent, max(1, n/perWord)) }

func (r recent) add(q uint32, h uint64) {
	word := &r[rowOf(h, len(r))][q]
	*word = *word<<16 | fingerprint(h)
}

// take forgets a key with hash h and returns the queue that gave it up; small if both did.
func (r recent) take(h uint64) (q uint32, ok bool) {
	row, f := &r[rowOf(h, len(r))], fingerprint(h)
	for q := range row {
		if at := match(row[q], f); at != 0 {
			row[q] &^= 0xffff << (mathbits.TrailingZeros64(at) &^ 15)
			return uint32(q), true
		}
	}
	return 0, false
}

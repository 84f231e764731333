package eviction

import mathbits "math/bits"

// A row has the fingerprints of sixteen keys, the latest in the lowest bits of the first word.
type row [4]uint64

const perRow = len(row{}) * perWord

// A ghost remembers the keys that were added last, by their fingerprints. Keys spread evenly over
// the rows, so the position of a key in its row tells its age: how many keys were added since then
// to all rows.
type ghost []row

// newGhost returns a ghost with room for about n keys.
func newGhost(n int) ghost { return make(ghost, max(1, (n+perRow/2)/perRow)) }

// addNew remembers a key with hash h and forgets the oldest key of its row. It returns
// false, and does nothing, if it remembers the key already.
func (g ghost) addNew(h uint64) bool {
	r, f := &g[rowOf(h, len(g))], fingerprint(h)
	if match(r[0], f)|match(r[1], f)|match(r[2], f)|match(r[3], f) != 0 {
		return false
	}
	r[3] = push(r[3], r[2]>>last)
	r[2] = push(r[2], r[1]>>last)
	r[1] = push(r[1], r[0]>>last)
	r[0] = push(r[0], f)
	return true
}

// take forgets a key with hash h, which it must remember, and returns its age.
func (g ghost) take(h uint64) (age int) {
	r, f := &g[rowOf(h, len(g))], fingerprint(h)
	for k := range r {
		if at := match(r[k], f); at != 0 {
			place := mathbits.TrailingZeros64(at) / width
			r[k] &^= (1<<width - 1) << (place * width)
			return ((k*perWord+place)*2 + 1) * len(g) / 2
		}
	}
	panic("eviction: the ghost does not remember the key")
}

// A recent remembers a sample of the keys that each queue evicted last. A row has four
// fingerprints for each queue. The sample is small, so that the rows stay in the processor's
// cache.
type recent struct {
	rows [][queues]uint64
	mask uint64 // the bits of a hash that are 0 if its key is in the sample
}

// minSample is how many keys of a queue are in the sample at least, if there are so many.
const minSample = 16

// newRecent returns a recent that samples the last n keys of each queue. Each key in the
// sample stands for a power of two of them.
func newRecent(n int) recent {
	every := 1
	for n/every >= 2*minSample {
		every *= 2
	}
	return recent{make([][queues]uint64, max(1, n/every/perWord)), uint64(every - 1)}
}

// samples reports whether a key with hash h belongs to the sample.
func (r *recent) samples(h uint64) bool {
	return h&r.mask == 0
}

// each returns how many keys each key in the sample stands for.
func (r *recent) each() int {
	return int(r.mask) + 1
}

func (r *recent) add(q uint32, h uint64) {
	word := &r.rows[rowOf(h, len(r.rows))][q]
	*word = push(*word, fingerprint(h))
}

// take forgets a key with hash h and returns the queue that evicted it, or small if both
// did. It returns false if it does not remember the key.
func (r *recent) take(h uint64) (q uint32, ok bool) {
	row, f := &r.rows[rowOf(h, len(r.rows))], fingerprint(h)
	for q := range row {
		if at := match(row[q], f); at != 0 {
			row[q] &^= (1<<width - 1) << (mathbits.TrailingZeros64(at) / width * width)
			return uint32(q), true
		}
	}
	return 0, false
}

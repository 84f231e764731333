package cache

import "math/bits"

// When a Set brings a deadline forward, the ring may visit the task of the entry too late.
// Checking that fetches one more cache line, behind a branch that cannot be predicted. So
// overwrite marks the entry, and the next tick moves the tasks of all marked entries. All
// their deadlines are beyond that tick.

// An earlier has a bit for each slot, set if the deadline of its entry was brought forward.
// The slot may have another entry, or none, since.
type earlier struct{ words []uint64 }

const bitsPerWord = 64

// markEarlier marks entry i if its new deadline is earlier than the old one.
func (s *shard[K, V]) markEarlier(i uint32, old, deadline int64) {
	if s.earlier == nil {
		s.awaitEarlier()
	}
	// Without a branch, which would wait for the old deadline from memory, and be
	// mispredicted every other time.
	s.earlier.words[i/bitsPerWord] |= uint64(deadline-old) >> 63 << (i % bitsPerWord)
}

// awaitEarlier makes the next tick call moveEarlier.
func (s *shard[K, V]) awaitEarlier() {
	s.earlier = &earlier{make([]uint64, (len(s.entries)+bitsPerWord-1)/bitsPerWord)}
	s.visitBy(s.common.nextTick())
}

// moveEarlier moves the tasks of marked entries that the ring would visit too late, and
// clears the marks, at most n. It returns done when no marks are left.
func (s *shard[K, V]) moveEarlier(n int) (done bool) {
	if s.earlier == nil {
		return true
	}
	for w := range s.earlier.words {
		for word := &s.earlier.words[w]; *word != 0; *word &= *word - 1 {
			if n == 0 {
				return false
			}
			n--
			i := uint32(w*bitsPerWord + bits.TrailingZeros64(*word))
			if !s.entries[i].live() {
				continue
			}
			if t := timeOf(s.entries[i].deadline.load()); t != never && !s.visitsBy(i, t) {
				s.schedule(i, s.common.tickAt(t))
			}
		}
	}
	s.earlier = nil
	return true
}

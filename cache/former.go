package cache

import "math/bits"

// former remembers the keys that expired or were evicted lately in a shard, so that a miss
// of one can be told from a miss of an unknown key. It is a direct-mapped table of
// fingerprints. A key is mistaken for another with a probability of at most 1/32,768. The
// zero former is empty.
//
// The lock of the shard guards it: misses read it under the lock for reading.
type former struct {
	slots []uint16 // 15 bits of a hash, and whether it was evicted; 0 if nothing is remembered
}

const (
	fewestFormer = 64      // slots
	mostFormer   = 1 << 14 // 32 KiB

	evictedBit = 1
)

// fingerprint returns the place of a hash, and what is there if it is remembered as
// expired.
func (g *former) fingerprint(h uint64) (place int, print uint16) {
	return int(h >> 40 & uint64(len(g.slots)-1)), max(uint16(h>>24)&^evictedBit, 2)
}

// add remembers a key with hash h that was removed from a shard of so many entries. Those
// that were deleted or cleared are nobody's fault, and are not remembered.
func (g *former) add(h uint64, cause Cause, entries int) {
	if cause != Expired && cause != Evicted {
		return
	}
	if len(g.slots) < min(entries, mostFormer) || g.slots == nil {
		n := min(max(entries, fewestFormer), mostFormer)
		g.slots = make([]uint16, 1<<bits.Len(uint(n-1)))
	}
	place, print := g.fingerprint(h)
	if cause == Evicted {
		print |= evictedBit
	}
	g.slots[place] = print
}

// forget forgets a key with hash h, which has a value again.
func (g *former) forget(h uint64) {
	if g.slots == nil {
		return
	}
	if place, print := g.fingerprint(h); g.slots[place]&^evictedBit == print {
		g.slots[place] = 0
	}
}

// cause returns why a key with hash h went: Expired, Evicted, or 0 if that is not known.
func (g *former) cause(h uint64) Cause {
	if g.slots == nil {
		return 0
	}
	place, print := g.fingerprint(h)
	switch g.slots[place] {
	case print:
		return Expired
	case print | evictedBit:
		return Evicted
	}
	return 0
}

// missed counts a miss of a key with hash h that has no entry. The lock must be held, at
// least for reading.
func (s *shard[K, V]) missed(h uint64) {
	switch s.former.cause(h) {
	case Expired:
		s.missesExpired.Add(1)
	case Evicted:
		s.missesEvicted.Add(1)
	}
}

// This file remembers keys that expired or were evicted, to say why a key is missing.

package cache

import (
	"math/bits"
	"sync/atomic"
)

// lostKeys remembers the keys that expired or were evicted lately in a shard, so that a miss
// of one can be told from a miss of an unknown key. It is a direct-mapped table of
// fingerprints. A key is mistaken for another with a probability of at most 1/32,768. The
// zero lostKeys is empty.
//
// In a shard of many entries it remembers a sample of the keys, chosen by hash. So most
// removals and stores do not touch the table, and the table stays in the processor's cache.
// A miss of a sampled key tells the cause of several misses: its own, and some of unsampled
// keys. The latter are owed. A later miss of an unsampled key is counted for a cause that is
// owed. So no miss is counted twice, whichever key is missed most.
//
// The lock of the shard guards it. Misses read it under the lock for reading.
type lostKeys struct {
	slots *[]uint16       // each 15 bits of a hash and evictedBit, or 0 if free; a pointer, as a shard has no more room
	skip  uint32          // a key is in the sample if these bits of its hash are 0
	owed  [2]atomic.Int32 // misses still to be counted for Expired, and for Evicted
}

const (
	minLostSlots = 64
	maxLostSlots = 512

	// maxOwed bounds the misses that are owed: those of so many sampled keys. If nearly all
	// misses have one cause, fewer misses may follow than are owed.
	maxOwed = 64

	evictedBit = 1
)

// remembers reports whether a key with hash h is in the sample.
func (l *lostKeys) remembers(h uint64) bool { return uint32(h>>49)&l.skip == 0 }

// fingerprint returns the slot of a hash, and its content if the key is remembered as
// expired.
func (l *lostKeys) fingerprint(h uint64) (slot *uint16, print uint16) {
	slots := *l.slots
	return &slots[h>>40&uint64(len(slots)-1)], max(uint16(h>>24)&^evictedBit, 2)
}

// add remembers a key with hash h that was removed from a shard with room for so many
// entries. Keys that the program deleted or cleared are not remembered.
func (l *lostKeys) add(h uint64, cause Cause, entries int) {
	if !l.remembers(h) || cause != Expired && cause != Evicted {
		return
	}
	if l.slots == nil || len(*l.slots) < min(entries, maxLostSlots) {
		n := min(max(entries, minLostSlots), maxLostSlots)
		slots := make([]uint16, 1<<bits.Len(uint(n-1)))
		l.slots = &slots
	}
	l.skip = 1<<bits.Len(uint(max(entries-1, 0)/maxLostSlots)) - 1
	slot, print := l.fingerprint(h)
	if cause == Evicted {
		print |= evictedBit
	}
	*slot = print
}

// forget removes a key with hash h, which has a value again.
func (l *lostKeys) forget(h uint64) {
	if !l.remembers(h) || l.slots == nil {
		return
	}
	if slot, print := l.fingerprint(h); *slot&^evictedBit == print {
		*slot = 0
	}
}

// cause returns why a key with hash h is missing: Expired, Evicted, or 0 if unknown.
func (l *lostKeys) cause(h uint64) Cause {
	if !l.remembers(h) || l.slots == nil {
		return 0
	}
	slot, print := l.fingerprint(h)
	switch *slot {
	case print:
		return Expired
	case print | evictedBit:
		return Evicted
	}
	return 0
}

// causeOfMiss returns the cause to count for a miss of a key with hash h: Expired, Evicted, or 0.
// It is safe for concurrent use with itself.
func (l *lostKeys) causeOfMiss(h uint64) Cause {
	if l.remembers(h) {
		cause := l.cause(h)
		if cause != 0 && l.skip > 0 {
			if owed := &l.owed[cause-Expired]; owed.Load() < maxOwed*int32(l.skip) {
				owed.Add(int32(l.skip))
			}
		}
		return cause
	}
	for i := range l.owed {
		if n := l.owed[i].Load(); n > 0 && l.owed[i].CompareAndSwap(n, n-1) {
			return Expired + Cause(i)
		}
	}
	return 0
}

// countMiss counts a miss of a key with hash h that has no entry. The lock must be held, at
// least for reading.
func (s *shard[K, V]) countMiss(h uint64) {
	switch s.lost.causeOfMiss(h) {
	case Expired:
		s.missesExpired.Add(1)
	case Evicted:
		s.missesEvicted.Add(1)
	}
}

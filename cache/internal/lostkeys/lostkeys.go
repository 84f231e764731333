// Package lostkeys remembers which keys a shard has lost lately, and why, so that a miss of one
// can be told from a miss of an unknown key.
package lostkeys

import (
	"math/bits"
	"sync/atomic"
)

// A Reason says why a key was lost.
type Reason uint8

const (
	Unknown Reason = iota // it was not, or nobody remembers
	Expired
	Evicted
)

// A Table remembers the keys that expired or were evicted lately in a shard. It is a
// direct-mapped table of fingerprints. A key is mistaken for another with a probability of at
// most 1/32,768. The zero Table is empty.
//
// In a shard of many entries the table remembers a sample of the keys, chosen by hash. Then
// most removals and stores do not touch it, and it is so small that it stays in the
// processor's cache. A miss of a key in the sample stands for the misses of several keys. The
// table owes the others: later misses of keys outside the sample are counted for the same
// reason. So no miss is counted twice, whichever key is missed most.
//
// The lock of the shard guards the table. Missed may run under the lock for reading.
type Table struct {
	slots *[]uint16       // each 15 bits of a hash and evictedBit, or 0 if free; a pointer, as a shard has no more room
	skip  uint32          // a key is in the sample if these bits of its hash are 0
	owed  [2]atomic.Int32 // misses still to be counted for Expired, and for Evicted
}

const (
	minSlots = 64
	maxSlots = 512

	// maxOwed bounds for how many keys of the sample misses are owed. If nearly all misses
	// have the same cause, more may be owed now and then than follow.
	maxOwed = 64

	evictedBit = 1
)

// remembers reports whether a key with hash h is in the sample.
func (l *Table) remembers(h uint64) bool { return uint32(h>>49)&l.skip == 0 }

// fingerprint returns the slot of a hash, and its content if the key is remembered as
// expired.
func (l *Table) fingerprint(h uint64) (slot *uint16, print uint16) {
	slots := *l.slots
	return &slots[h>>40&uint64(len(slots)-1)], max(uint16(h>>24)&^evictedBit, 2)
}

// Add remembers for which reason, Expired or Evicted, a key with hash h was removed from a
// shard with room for so many entries.
func (l *Table) Add(h uint64, reason Reason, entries int) {
	if !l.remembers(h) {
		return
	}
	if l.slots == nil || len(*l.slots) < min(entries, maxSlots) {
		n := min(max(entries, minSlots), maxSlots)
		slots := make([]uint16, 1<<bits.Len(uint(n-1)))
		l.slots = &slots
	}
	l.skip = 1<<bits.Len(uint(max(entries-1, 0)/maxSlots)) - 1
	slot, print := l.fingerprint(h)
	if reason == Evicted {
		print |= evictedBit
	}
	*slot = print
}

// Forget removes a key with hash h, which has a value again.
func (l *Table) Forget(h uint64) {
	if !l.remembers(h) || l.slots == nil {
		return
	}
	if slot, print := l.fingerprint(h); *slot&^evictedBit == print {
		*slot = 0
	}
}

// reason returns why a key with hash h is missing.
func (l *Table) reason(h uint64) Reason {
	if !l.remembers(h) || l.slots == nil {
		return Unknown
	}
	slot, print := l.fingerprint(h)
	switch *slot {
	case print:
		return Expired
	case print | evictedBit:
		return Evicted
	}
	return Unknown
}

// Missed returns the reason to count for a miss of a key with hash h. It is safe for
// concurrent use with itself.
func (l *Table) Missed(h uint64) Reason {
	if l.remembers(h) {
		reason := l.reason(h)
		if reason != Unknown && l.skip > 0 {
			if owed := &l.owed[reason-Expired]; owed.Load() < maxOwed*int32(l.skip) {
				owed.Add(int32(l.skip))
			}
		}
		return reason
	}
	for i := range l.owed {
		if n := l.owed[i].Load(); n > 0 && l.owed[i].CompareAndSwap(n, n-1) {
			return Expired + Reason(i)
		}
	}
	return Unknown
}

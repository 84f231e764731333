package cache

import (
	"math/bits"
	"sync/atomic"
)

// former remembers the keys that expired or were evicted lately in a shard, so that a miss
// of one can be told from a miss of an unknown key. It is a direct-mapped table of
// fingerprints. A key is mistaken for another with a probability of at most 1/32,768. The
// zero former is empty.
//
// Of many entries it remembers a sample, by hash: most removals and stores do not touch the
// table, which is so small that it stays near. A miss of a key in the sample stands for as
// many as there are without it: for it, some that follow of other keys are counted for the
// same cause. So no miss is counted twice, whichever key is missed most.
//
// The lock of the shard guards it: misses read it under the lock for reading.
type former struct {
	slots *[]uint16       // 15 bits of a hash, and whether it was evicted, or 0; a pointer, as a shard has no more room
	skip  uint32          // bits of a hash that are 0 if its key is in the sample
	owed  [2]atomic.Int32 // misses yet to be counted for a key that expired, and for one that was evicted
}

const (
	fewestFormer = 64 // slots
	mostFormer   = 512

	// mostOwed is for how many keys of the sample misses are owed at most. If nearly all
	// misses have the same cause, there are now and then more than come.
	mostOwed = 64

	evictedBit = 1
)

// remembers reports whether a key with hash h is in the sample.
func (f *former) remembers(h uint64) bool { return uint32(h>>49)&f.skip == 0 }

// fingerprint returns the place of a hash, and what is there if it is remembered as
// expired.
func (f *former) fingerprint(h uint64) (slot *uint16, print uint16) {
	slots := *f.slots
	return &slots[h>>40&uint64(len(slots)-1)], max(uint16(h>>24)&^evictedBit, 2)
}

// add remembers a key with hash h that was removed from a shard of so many entries. Those
// that were deleted or cleared are nobody's fault, and are not remembered.
func (f *former) add(h uint64, cause Cause, entries int) {
	if !f.remembers(h) || cause != Expired && cause != Evicted {
		return
	}
	if f.slots == nil || len(*f.slots) < min(entries, mostFormer) {
		n := min(max(entries, fewestFormer), mostFormer)
		slots := make([]uint16, 1<<bits.Len(uint(n-1)))
		f.slots = &slots
	}
	f.skip = 1<<bits.Len(uint(max(entries-1, 0)/mostFormer)) - 1
	slot, print := f.fingerprint(h)
	if cause == Evicted {
		print |= evictedBit
	}
	*slot = print
}

// forget forgets a key with hash h, which has a value again.
func (f *former) forget(h uint64) {
	if !f.remembers(h) || f.slots == nil {
		return
	}
	if slot, print := f.fingerprint(h); *slot&^evictedBit == print {
		*slot = 0
	}
}

// cause returns why a key with hash h went: Expired, Evicted, or 0 if that is not known.
func (f *former) cause(h uint64) Cause {
	if !f.remembers(h) || f.slots == nil {
		return 0
	}
	slot, print := f.fingerprint(h)
	switch *slot {
	case print:
		return Expired
	case print | evictedBit:
		return Evicted
	}
	return 0
}

// missed returns for which cause a miss of a key with hash h is to be counted, as cause
// does. It is safe for concurrent use with itself.
func (f *former) missed(h uint64) Cause {
	if f.remembers(h) {
		cause := f.cause(h)
		if cause != 0 && f.skip > 0 {
			if owed := &f.owed[cause-Expired]; owed.Load() < mostOwed*int32(f.skip) {
				owed.Add(int32(f.skip))
			}
		}
		return cause
	}
	for i := range f.owed {
		if n := f.owed[i].Load(); n > 0 && f.owed[i].CompareAndSwap(n, n-1) {
			return Expired + Cause(i)
		}
	}
	return 0
}

// missed counts a miss of a key with hash h that has no entry. The lock must be held, at
// least for reading.
func (s *shard[K, V]) missed(h uint64) {
	switch s.former.missed(h) {
	case Expired:
		s.missesExpired.Add(1)
	case Evicted:
		s.missesEvicted.Add(1)
	}
}

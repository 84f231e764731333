// Package lost remembers the keys that a shard has lost, by expiry or eviction, to say why a key is
// missing.
package lost

import (
	"math/bits"
	"sync/atomic"
)

// Keys remembers the keys that expired or were evicted recently in a shard, so that a miss
// of one can be told from a miss of an unknown key. It is a direct-mapped table of
// fingerprints. It mistakes one key for another with a probability of at most 1/32,768. The
// zero Keys is empty.
//
// In a shard of many entries it remembers only a sample of the keys, chosen by hash. So most
// removals and stores do not touch the table, and the table stays in the processor's cache.
// If one key in n is in the sample, a miss of a sampled key stands for n misses: its own, which
// is counted at once, and n-1 of other keys, which are owed. Each later miss of a key outside the
// sample is counted for a reason that is owed. So no miss is counted twice, whichever key is
// missed most.
//
// The lock of the shard guards it. Misses read it under the lock for reading.
type Keys struct {
	slots *[slots]uint16  // each 15 bits of a hash and evictedBit, or 0 if free; a pointer, to keep a shard small
	skip  uint32          // a key is in the sample if these bits of its hash are 0
	room  uint32          // how many entries the shard had room for when it last lost one
	owed  [2]atomic.Int32 // misses to be counted yet for ByExpiry, and for ByEviction
}

// A Reason is why a key is missing.
type Reason uint8

const (
	Unknown Reason = iota // it never had a value, or was removed otherwise, or is forgotten
	ByExpiry
	ByEviction
)

const (
	slots = 512 // a cache of few entries may lose many keys in a minute

	// maxOwed bounds the misses that are owed, in misses of sampled keys. If nearly all misses
	// have one reason, by chance fewer may follow than are owed.
	maxOwed = 64

	evictedBit = 1
)

// remembers reports whether a key with hash h is in the sample.
func (k *Keys) remembers(h uint64) bool { return uint32(h>>49)&k.skip == 0 }

// fingerprint returns the slot of a hash, and its content if the key is remembered as
// expired.
func (k *Keys) fingerprint(h uint64) (slot *uint16, print uint16) {
	return &k.slots[h>>40%slots], max(uint16(h>>24)&^evictedBit, 2)
}

// Add remembers a key with hash h that was removed ByExpiry or ByEviction. entries is how many the
// shard has room for.
func (k *Keys) Add(h uint64, reason Reason, entries int) {
	if k.slots == nil {
		k.slots = new([slots]uint16)
	}
	if int(k.room) != entries {
		k.room, k.skip = uint32(entries), 1<<bits.Len(uint(max(entries-1, 0)/slots))-1
	}
	if !k.remembers(h) {
		return
	}
	slot, print := k.fingerprint(h)
	if reason == ByEviction {
		print |= evictedBit
	}
	*slot = print
}

// Forget removes a key with hash h, which has a value again.
func (k *Keys) Forget(h uint64) {
	if !k.remembers(h) || k.slots == nil {
		return
	}
	if slot, print := k.fingerprint(h); *slot&^evictedBit == print {
		*slot = 0
	}
}

// reason returns why a key with hash h of the sample is missing.
func (k *Keys) reason(h uint64) Reason {
	if !k.remembers(h) || k.slots == nil {
		return Unknown
	}
	slot, print := k.fingerprint(h)
	switch *slot {
	case print:
		return ByExpiry
	case print | evictedBit:
		return ByEviction
	}
	return Unknown
}

// Miss returns the reason to count for a miss of a key with hash h. Any number of goroutines may
// call it at once.
func (k *Keys) Miss(h uint64) Reason {
	if k.remembers(h) {
		reason := k.reason(h)
		if reason != Unknown && k.skip > 0 {
			if owed := &k.owed[reason-ByExpiry]; owed.Load() < maxOwed*int32(k.skip) {
				owed.Add(int32(k.skip))
			}
		}
		return reason
	}
	for i := range k.owed {
		if n := k.owed[i].Load(); n > 0 && k.owed[i].CompareAndSwap(n, n-1) {
			return ByExpiry + Reason(i)
		}
	}
	return Unknown
}

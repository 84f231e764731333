// This file has what a shard keeps only for statistics. A new array for statistics goes here. Hits and
// misses are counted with the lock, removals in the shard. What readers count is atomic, and they read
// lost; the lock of the shard, held for writing, guards the rest.

package cache

import (
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/cache/internal/lost"
	"github.com/pinwheel-cache/pinwheel/internal/histogram"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// tally has counters of a shard, the ages of its values, and why keys are missing.
type tally struct {
	missesExpired atomic.Uint64 // part of the misses that the lock counts
	missesEvicted atomic.Uint64
	hitsInGrace   atomic.Uint64  // part of the hits that the lock counts
	born          []clock.Moment // when values were stored, or their loads began, if the cache keeps their ages
	lost          lost.Keys
	restored      uint64 // entries stored by Restore
}

// miss counts a miss of a key with hash h that has no entry. The lock must be held, at
// least for reading.
func (t *tally) miss(h uint64) {
	switch t.lost.Miss(h) {
	case lost.ByExpiry:
		t.missesExpired.Add(1)
	case lost.ByEviction:
		t.missesEvicted.Add(1)
	}
}

// missExpired counts a miss of a key whose value has expired.
func (t *tally) missExpired() { t.missesExpired.Add(1) }

// hitGrace counts a hit of a value in Grace.
func (t *tally) hitGrace() { t.hitsInGrace.Add(1) }

// found forgets why a key with hash h was missing.
func (t *tally) found(h uint64) { t.lost.Forget(h) }

// lose remembers why a key with hash h will be missing, in a shard with room for so many entries.
func (t *tally) lose(h uint64, why lost.Reason, entries int) { t.lost.Add(h, why, entries) }

// restore counts entry i, which Restore has stored. Its age is not known.
func (t *tally) restore(i uint32) {
	t.restored++
	if t.born != nil {
		t.born[i] = 0
	}
}

// store notes that entry i has a value whose load began then, or that was stored now if that is 0.
func (t *tally) store(i uint32, began int64, c *clock.Clock) {
	if t.born == nil {
		return
	}
	if began == 0 {
		began = c.Now()
	}
	t.born[i] = clock.MomentOf(began)
}

// bornOf returns when the value of entry i was stored, or its load began; 0 if that is not known.
func (t *tally) bornOf(i uint32) clock.Moment {
	if t.born == nil {
		return 0
	}
	return t.born[i]
}

// evict notes that entry i is evicted now.
func (t *tally) evict(i uint32, clock *clock.Clock, ages *histogram.AgeRecorder) {
	if t.bornOf(i) > 0 {
		ages.Observe(t.born[i].Until(clock.Moment()))
	}
}

// addTo adds the counts to total.
func (t *tally) addTo(total *stats.Snapshot) {
	total.MissesExpired += t.missesExpired.Load()
	total.MissesEvicted += t.missesEvicted.Load()
	total.HitsInGrace += t.hitsInGrace.Load()
	total.Restored += t.restored
}

// inherit takes over the counts of another tally.
func (t *tally) inherit(from *tally) {
	t.missesExpired.Store(from.missesExpired.Load())
	t.missesEvicted.Store(from.missesEvicted.Load())
	t.hitsInGrace.Store(from.hitsInGrace.Load())
	t.restored = from.restored
}

// resize makes room for n slots.
func (t *tally) resize(n int, ages bool) {
	if ages {
		t.born = resized(t.born, n)
	}
}

// copy copies what another tally has of entry from to entry to.
func (t *tally) copy(to uint32, other *tally, from uint32) {
	if t.born != nil {
		t.born[to] = other.born[from]
	}
}

// drop frees the memory.
func (t *tally) drop() { t.born, t.lost = nil, lost.Keys{} }

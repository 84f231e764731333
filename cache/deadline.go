// This file has a deadline in memory, dead or alive.

package cache

import (
	"math"
	"sync/atomic"
)

const (
	never     = math.MaxInt64 // the deadline of an entry without one
	freeSlots = math.MinInt64 // from here on: no deadline, but the next free slot
	unused    = 0             // the slot is free, and so are all that follow
)

// A deadline is a time on the cache's clock. The deadline of an entry that was found
// expired is negated: the entry is dead, and no reader can bring it back. Readers load and
// swap a deadline atomically. set needs the lock of the shard for writing: an atomic store
// would double the cost of an overwrite.
type deadline struct {
	_ [0]atomic.Int64 // for its alignment on 32 bits
	t int64
}

func (d *deadline) load() int64 { return atomic.LoadInt64(&d.t) }

func (d *deadline) swap(old, to int64) bool { return atomic.CompareAndSwapInt64(&d.t, old, to) }

func (d *deadline) set(t int64) { d.t = t }

func (d *deadline) store(t int64) { atomic.StoreInt64(&d.t, t) }

// timeOf returns the time that a deadline names, whether or not it is negated.
func timeOf(deadline int64) int64 {
	if deadline < 0 {
		return -deadline
	}
	return deadline
}

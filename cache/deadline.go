package cache

import (
	"math"
	"sync/atomic"
)

const (
	never = math.MaxInt64 // the deadline of an entry without one
	dead  = 1             // that of an entry that was found expired: it is not to come back
)

// A deadline is a time on the cache's clock. Readers load and swap it atomically; set
// is for who has the lock of the shard for writing. There an atomic store would cost
// as much as all else that an overwrite writes.
type deadline struct {
	_ [0]atomic.Int64 // for its alignment on 32 bits
	t int64
}

func (d *deadline) load() int64 { return atomic.LoadInt64(&d.t) }

func (d *deadline) swap(old, to int64) bool { return atomic.CompareAndSwapInt64(&d.t, old, to) }

func (d *deadline) set(t int64) { d.t = t }

// This file weighs entries in bytes.

package cache

import (
	"math"
	"unsafe"

	"github.com/pinwheel-cache/pinwheel/cache/internal/sizeof"
)

// slotBytes is what the index, the order, the weights, the ring and free slots take for an
// entry with a TTL, beside key, value and deadline: measured by TestSizeOf.
const slotBytes = 45

// SizeOf returns the bytes of memory that an entry takes, for [Options.Weigh]: then MaxWeight
// is in bytes. It follows pointers, slices, strings, maps and interfaces, and rounds up as the
// allocator does, so a full cache takes what MaxWeight says within some five percent. It
// takes some tens of nanoseconds for numbers and strings, and some more for each pointer.
//
// It does not know the options: an entry without a TTL takes 20 bytes less, with Refresh or
// Grace 8 more, with Idle 8, with [Adaptive] 6 and with Ages 4. What several values lead to is
// counted for each; maps are estimated within a third; what functions and channels hold is not
// counted. The garbage collector lets the heap grow beyond what is in use: see GOGC and
// GOMEMLIMIT. An entry of 4 GiB or more has the weight 2³²-1.
//
// SizeOf reads all that key and value lead to without a lock, so nothing may change that
// meanwhile: a value that leads to a connection, a logger or a map which others write is a data
// race, and a map that changes under SizeOf ends the process. Weigh those by a function of
// your own. SizeOf may be called by several goroutines at once.
func SizeOf[K comparable, V any](key K, value V) uint32 {
	bytes := uint64(unsafe.Sizeof(entry[K, V]{})) + slotBytes + sizeof.Of(key) + sizeof.Of(value)
	return uint32(min(bytes, math.MaxUint32))
}

package load

import (
	"math/rand/v2"
)

// An Op is a read or a write of the key with an index.
type Op uint32

const write Op = 1 << 31

// Index returns the index of the key.
func (o Op) Index() uint32 { return uint32(o &^ write) }

// Write reports whether the operation is a write.
func (o Op) Write() bool { return o&write != 0 }

// Mix returns operations on the keys with the given indices, of which the given
// fraction are reads.
func Mix(r *rand.Rand, indices []uint32, reads float64) []Op {
	ops := make([]Op, len(indices))
	for i, index := range indices {
		ops[i] = Op(index)
		if r.Float64() >= reads {
			ops[i] |= write
		}
	}
	return ops
}

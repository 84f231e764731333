// This file says what the allocator takes for an object.

package heapsize

import "sync"

const (
	tiny      = 16       // bytes: objects without pointers of up to half as much share a block of so many
	unheaded  = 512      // bytes: a larger small object with pointers has a header
	header    = 8        // bytes
	mostSmall = 32 << 10 // bytes, with the header; larger objects take whole pages
	page      = 8 << 10
	granule   = 8 // bytes, by which size classes differ at least
)

// block returns what an object of n bytes takes.
func block(n uint64, traced bool) uint64 {
	switch {
	case n == 0:
		return 0
	case n > mostSmall-header:
		return (n + page - 1) / page * page
	case traced && n > unheaded:
		n += header
	}
	return classes()[(n+granule-1)/granule]
}

// classes returns the sizes of small blocks, by the eighth of the size asked for. append tells them: it uses
// all of a block.
var classes = sync.OnceValue(func() []uint64 {
	var all [mostSmall/granule + 1]uint64
	for n := uint64(granule); n <= mostSmall; n += granule {
		i := n / granule
		if all[i-1] >= n {
			all[i] = all[i-1]
		} else {
			all[i] = uint64(cap(append([]byte(nil), make([]byte, n)...)))
		}
	}
	return all[:]
})

package sizeof

import (
	"sync"
	"unsafe"
)

const (
	word    = 8
	page    = 8 << 10
	largest = 32 << 10 // greater objects get pages
	tiny    = 16       // smaller ones without pointers share a block of this size
	pointer = unsafe.Sizeof(uintptr(0))
	headed  = 8 * pointer * pointer // greater ones with pointers have a word before them that says where these are
)

// rounded has for each number of words, up to largest, the bytes that the allocator gives out
// for it. The runtime does not tell, but append uses all of what it gets.
var rounded = sync.OnceValue(func() *[largest/word + 1]uint32 {
	all := new([largest/word + 1]uint32)
	for n := 1; n < len(all); {
		class := cap(append([]byte(nil), make([]byte, n*word)...))
		for ; n <= class/word && n < len(all); n++ {
			all[n] = uint32(class)
		}
	}
	return all
})

// allocated returns the bytes that an object of n bytes takes, with or without pointers.
func allocated(n uintptr, pointers bool) uint64 {
	switch {
	case n == 0:
		return 0
	case n < tiny && !pointers:
		return uint64(tiny / (tiny / n))
	case pointers && n > headed:
		n += word
	}
	if n > largest {
		return uint64((n + page - 1) &^ (page - 1))
	}
	return uint64(rounded()[(n+word-1)/word])
}

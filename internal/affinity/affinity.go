// Package affinity tells goroutines apart, roughly and for next to nothing.
package affinity

import "unsafe"

// Hint returns a number that is mostly the same from call to call for one
// goroutine, and spread evenly for many; the upper bits are the best. It is for
// choosing one of several equal places so that two goroutines that run at the
// same time seldom meet, and a goroutine comes back to what its processor has in
// its cache.
//
// It is a hash of the address of the goroutine's stack. Goroutines of one
// address, one after another, have the same number; and one whose stack grows
// gets another.
func Hint() uint64 {
	var here byte
	return uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B97F4A7C15
}

// Package affinity tells goroutines apart, approximately, at almost no cost.
package affinity

import "unsafe"

// Hint returns a number that is usually the same from call to call for one
// goroutine, and evenly spread over many goroutines; use its upper bits. It is for
// choosing one of several equal stripes or shards: goroutines that run at the
// same time seldom choose the same one, and a goroutine finds its own in its
// processor's cache. It is safe for concurrent use.
//
// The number is a hash of the address of the goroutine's stack. It changes when the
// stack grows, and a later goroutine with a stack at the same address has the same
// number.
func Hint() uint64 {
	var here byte
	return uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B97F4A7C15
}

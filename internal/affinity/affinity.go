// Package affinity usually tells goroutines apart, at almost no cost.
package affinity

import "unsafe"

// Hint returns a number that is usually the same at each call by one goroutine. The numbers of
// many goroutines are evenly spread; use the upper bits. Choose one of several equal stripes or
// shards by it: goroutines that run at the same time seldom choose the same one, and a goroutine
// finds its own in its processor's cache. It is safe for concurrent use.
//
// The number is a hash of the address of the goroutine's stack. It changes when the
// stack grows, and a later goroutine with a stack at the same address has the same
// number.
func Hint() uint64 {
	var here byte
	return uint64(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B97F4A7C15
}

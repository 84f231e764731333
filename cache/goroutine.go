// This file starts the goroutines of loads and of their filters, and has the number by which a Compute
// knows its own.

package cache

import (
	"bytes"
	"runtime"
	"strconv"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// goroutineID returns the number of the calling goroutine. It takes a microsecond, so it is only
// for a Compute that was overtaken twice.
//
// It depends on how the runtime begins a stack trace: "goroutine 18 [running]". No document of Go
// promises that. If it changes, goroutineID returns 0, and nothing recognizes a Compute whose function
// changes its own key: the function is called for ever. TestGoroutineID fails then.
func goroutineID() uint64 {
	var trace [64]byte
	text := bytes.TrimPrefix(trace[:runtime.Stack(trace[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64)
	return id
}

// spawn starts a new goroutine for a load. None is reused, as a fetch may leave its thread locked. A
// callback must not wait for callbacks; so if a callback starts the load, the load must not either.
func (c *Cache[K, V]) spawn(run func()) {
	if c.common.observers.runner != nil && runner.InCallback() {
		runner.Go(run)
	} else {
		go run()
	}
}

// growStack gives a new goroutine a stack of 16 KiB at once, by the size of its own frame. Otherwise
// the stack would grow and be copied several times, which takes longer than a fetch of a value in memory.
//
//go:noinline
func growStack(n int) byte {
	if n == 0 {
		return 0 // always
	}
	var room [12_000]byte
	room[n] = 1
	return room[n/2]
}

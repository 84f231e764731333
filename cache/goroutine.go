// This file starts the goroutines of loads, and tells goroutines apart.

package cache

import (
	"bytes"
	"runtime"
	"strconv"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// goroutineID returns the number of the calling goroutine, with which the runtime
// begins stack traces: "goroutine 18 [running]". It takes a microsecond, so it is only
// for cases in which something has gone wrong already.
func goroutineID() uint64 {
	var trace [64]byte
	text := bytes.TrimPrefix(trace[:runtime.Stack(trace[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64)
	return id
}

// spawn starts the goroutine of a load: a new one, as a fetch may lock its thread and leave it
// locked. If the leader is a callback, which must not wait for callbacks, the load that it waits
// for must not wait for them either.
func (c *Cache[K, V]) spawn(run func()) {
	if c.common.observers.runner != nil && runner.InCallback() {
		runner.Go(run)
	} else {
		go run()
	}
}

// growStack gives a new goroutine a stack of 16 KiB at once, by the size of its own frame. To double
// the stack step by step, with more on it at each, takes longer than a load in memory.
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

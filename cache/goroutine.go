// This file tells goroutines apart.

package cache

import (
	"bytes"
	"runtime"
	"strconv"
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

package timers

import (
	"runtime"
)

// heapBytes returns how much memory is in use.
func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

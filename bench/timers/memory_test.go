package timers

import (
	"runtime"
)

// heapBytes returns how many bytes of heap are in use.
func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

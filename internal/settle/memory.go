package settle

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// Heap returns how many bytes are in use after a collection.
func Heap() int64 {
	runtime.GC()
	runtime.GC() // for what the first one has only found
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Collected collects garbage until done returns true. It returns false if that takes longer than
// patience.
func Collected(done func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		runtime.GC()
		if done() {
			return true
		}
		time.Sleep(time.Millisecond) // cleanups run in a goroutine of their own
	}
	return false
}

// UnderRace reports whether the program was built with the race detector.
func UnderRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

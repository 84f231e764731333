// Package vitals tells how the process is: its memory, its collector, and whether it was stopped.
package vitals

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// A Reading is what the Go runtime says of the process.
type Reading struct {
	Heap, Limit    float64 // bytes as the memory limit counts them; the limit, 0: none
	Collector, CPU float64 // seconds of CPU: of the collector so far; of all that there were
}

// Read takes a Reading. Times of CPU are as of the last collection.
func Read() Reading {
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"},
	}
	metrics.Read(s)
	r := Reading{float64(s[0].Value.Uint64() - s[1].Value.Uint64()), 0, s[2].Value.Float64(), s[3].Value.Float64()}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		r.Limit = float64(limit)
	}
	return r
}

// Busy returns the share of the collector in the CPU time since an earlier Reading, from 0 to 1.
func (r Reading) Busy(since Reading) float64 {
	if r.CPU <= since.CPU {
		return 0
	}
	return min(max((r.Collector-since.Collector)/(r.CPU-since.CPU), 0), 1)
}

// Stops are the times in which the process did not run. It is safe for concurrent use.
type Stops struct {
	mu     sync.Mutex // guards what follows
	count  uint64
	length time.Duration // of the last
	end    time.Time     // of the last
}

// leastStop is how late a timer must be. A busy machine may delay it for seconds.
const leastStop = 10 * time.Second

// Note notes that a timer has fired. The clock of a machine that sleeps may stand still, so the time of
// day counts too.
func (s *Stops) Note(due time.Time) {
	now := time.Now()
	late := max(now.Sub(due), now.Round(0).Sub(due.Round(0)))
	if late < leastStop {
		return
	}
	s.mu.Lock()
	s.count, s.length, s.end = s.count+1, late, now
	s.mu.Unlock()
}

// Last returns how many stops there were, how long the last was and when it ended.
func (s *Stops) Last() (count uint64, length time.Duration, end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count, s.length, s.end
}

// Version is that of the program, or of its source; empty if it has none.
var Version = sync.OnceValue(func() (version string) {
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && (version == "" || version == "(devel)") {
				version = s.Value
			}
		}
	}
	return version
})

package main

import (
	"fmt"
	"math"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// leaks checks the goroutines and the memory in use at each rest.
type leaks struct {
	failed     *failure
	base       int // goroutines before the first phase
	goroutines int
	heap       uint64
	rests      []sample // with the caches empty
}

// A sample is how much memory was in use at a time, in seconds and bytes.
type sample struct{ at, heap float64 }

const (
	// The first warmUp-th of the samples does not count for the trend: pools, stacks
	// of the runtime and records of the keys are still growing.
	warmUp     = 4
	fewSamples = 8

	// The heap has grown if the line through the samples rises by more than least plus
	// a fiftieth of the mean, and its slope is above this many standard errors.
	least      = 1 << 20
	deviations = 4
)

func (l *leaks) begin() {
	runtime.GC()
	l.base = runtime.NumGoroutine()
	for range 20 { // some may still be ending
		time.Sleep(time.Millisecond)
		l.base = min(l.base, runtime.NumGoroutine())
	}
}

// check counts goroutines and memory at a rest.
func (l *leaks) check(empty bool) {
	wrong := eventually(l.failed, func() string {
		if l.goroutines = runtime.NumGoroutine(); l.goroutines > l.base {
			return fmt.Sprintf("%d goroutines, %d before the first phase", l.goroutines, l.base)
		}
		return ""
	})
	if wrong != "" {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		l.failed.report(violation{Subject: "goroutines", What: wrong, Detail: stacks.String()})
	}
	runtime.GC()
	runtime.GC() // objects with a cleanup are freed only now
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	l.heap = m.HeapAlloc
	if !empty {
		return
	}
	l.rests = append(l.rests, sample{now().Seconds(), float64(m.HeapAlloc)})
	if first := l.rests[0].heap; float64(m.HeapAlloc) > 1.5*first+16<<20 {
		l.failed.report(violation{Subject: "heap", What: fmt.Sprintf("%d bytes with all caches empty, %.0f at the first rest", m.HeapAlloc, first)})
	}
}

// trend reports a violation if memory grew over the whole run.
func (l *leaks) trend() {
	if growth, sure := grown(l.rests); sure {
		l.failed.report(violation{Subject: "heap", What: fmt.Sprintf("with all caches empty it has grown by %.0f bytes, steadily", growth)})
	}
}

// grown returns how far the line through the samples after the warm-up rises, and whether
// that is a leak.
func grown(samples []sample) (growth float64, sure bool) {
	samples = samples[len(samples)/warmUp:]
	if len(samples) < fewSamples {
		return 0, false
	}
	slope, deviation, mean := line(samples)
	growth = slope * (samples[len(samples)-1].at - samples[0].at)
	return growth, growth > least+mean/50 && slope > deviations*deviation
}

// line returns the slope of the line through samples by least squares, the standard
// error of it, and the mean.
func line(samples []sample) (slope, deviation, mean float64) {
	n := float64(len(samples))
	var at float64
	for _, s := range samples {
		at += s.at / n
		mean += s.heap / n
	}
	var xx, xy float64
	for _, s := range samples {
		xx += (s.at - at) * (s.at - at)
		xy += (s.at - at) * (s.heap - mean)
	}
	slope = xy / xx
	var rest float64
	for _, s := range samples {
		d := s.heap - mean - slope*(s.at-at)
		rest += d * d
	}
	return slope, math.Sqrt(rest / (n - 2) / xx), mean
}

func (l *leaks) String() string {
	if len(l.rests) == 0 {
		return fmt.Sprintf("goroutines: %d, %d at the start", l.goroutines, l.base)
	}
	growth, _ := grown(l.rests)
	return fmt.Sprintf("goroutines: %d, %d at the start; heap with all caches empty: %.2f MB first, %.2f MB last, trend after the warm-up %+.2f MB, %d samples",
		l.goroutines, l.base, l.rests[0].heap/1e6, l.rests[len(l.rests)-1].heap/1e6, growth/1e6, len(l.rests))
}

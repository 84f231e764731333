//go:build !race

// The race detector allocates too, which cannot be told apart here.

package timingwheel

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestTimerAllocations counts the allocations of starting, stopping and resetting timers,
// without the growth of the arrays.
func TestTimerAllocations(t *testing.T) {
	timers := mustTimers(t, time.Hour, 8)
	f := func() {}
	for range 1000 {
		timers.AfterFunc(time.Hour, f)
	}
	timer := timers.AfterFunc(time.Hour, f)
	every := timers.Every(time.Hour, f)
	channel := timers.NewTimer(time.Hour)
	d := time.Hour
	for _, test := range []struct {
		name string
		most float64
		f    func()
	}{
		{"Reset to later", 0, func() { d += time.Hour; timer.Reset(d) }},
		{"Reset to earlier", 0, func() { d -= time.Hour; timer.Reset(d) }},
		{"Stop and Reset", 0, func() { timer.Stop(); timer.Reset(time.Hour) }},
		{"Every: Reset", 0, func() { every.Reset(time.Hour) }},
		{"Every: Stop and Reset", 0, func() { every.Stop(); every.Reset(time.Hour) }},
		{"NewTimer: Reset", 0, func() { channel.Reset(time.Hour); channel.Reset(time.Minute) }},
		{"NewTimer: Stop and Reset", 0, func() { channel.Stop(); channel.Reset(time.Hour) }},
		{"AfterFunc and Stop", 1, func() { timers.AfterFunc(time.Hour, f).Stop() }},
		{"At and Stop", 1, func() { timers.At(time.Time{}, f).Stop() }},
	} {
		if n := testing.AllocsPerRun(1000, test.f); n > test.most {
			t.Errorf("%s: %v allocations, want at most %v", test.name, n, test.most)
		}
	}
}

// TestFiringDoesNotAllocate checks that a timer that its own callback resets fires without
// an allocation.
func TestFiringDoesNotAllocate(t *testing.T) {
	const calls = 500
	least := uint64(math.MaxUint64) // of several, as others of this process allocate too
	for range 5 {
		least = min(least, allocationsOfCalls(t, calls))
	}
	if least > 2*calls+200 {
		t.Errorf("%d allocations for %d calls", least, calls)
	}
}

// allocationsOfCalls returns the allocations of the process while a timer fires and is reset.
func allocationsOfCalls(t *testing.T, calls int64) uint64 {
	timers := mustTimers(t, minInterval, 8)
	done := make(chan struct{})
	var n atomic.Int64
	var timer tmSelf
	ready := make(chan struct{})
	timer.Store(timers.AfterFunc(0, func() {
		<-ready
		if n.Add(1) == calls {
			close(done)
			return
		}
		timer.Reset(0)
	}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	close(ready)
	<-done
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

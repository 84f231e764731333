//go:build !race

// The race detector allocates too, which cannot be told apart here.

package timingwheel

import (
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

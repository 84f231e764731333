//go:build !race

// The race detector allocates too, which cannot be told apart here.

package timingwheel

import (
	"testing"
	"time"
)

// TestAllocations counts the allocations of operations in the steady state, without the
// growth of the arrays.
func TestAllocations(t *testing.T) {
	const n = 1000
	w := newKeyed(t, time.Hour, 64, func(uint64, uint64) {})
	timers := mustTimers(t, time.Hour, 8)
	f := func() {}
	for key := range uint64(n) {
		mustSetKeyed(t, w, key, key, time.Hour)
		timers.AfterFunc(time.Hour, f)
	}
	timer, every, channel := timers.AfterFunc(time.Hour, f), timers.Every(time.Hour, f), timers.NewTimer(time.Hour)
	k, d := uint64(0), time.Hour
	some := func() time.Duration { return time.Duration(1+k%200) * time.Hour }
	for _, test := range []struct {
		name string
		most float64
		f    func()
	}{
		{"SetTimer of a key that is there", 0, func() { _ = w.SetTimer(k%n, k, some()) }},
		{"SetTimer and RemoveTimer", 0, func() { _ = w.SetTimer(n+k, k, some()); _, _ = w.RemoveTimer(n + k) }},
		{"MoveTimer", 0, func() { _, _ = w.MoveTimer(k%n, some()) }},
		{"SetTimerAt", 0, func() { _ = w.SetTimerAt(k%n, k, keyedEpoch.Add(some())) }},
		{"Len", 0, func() { _ = w.Len() }},
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
		if allocs := testing.AllocsPerRun(2000, func() { k++; test.f() }); allocs > test.most {
			t.Errorf("%s: %v allocations, want at most %v", test.name, allocs, test.most)
		}
	}
}

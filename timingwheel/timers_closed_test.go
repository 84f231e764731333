package timingwheel

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestStopDuringCallLeavesNothing checks that a timer that repeats has no next call after
// its wheel was stopped during a call.
func TestStopDuringCallLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		timers.Every(20*ms, func() { time.Sleep(100 * ms) })
		time.Sleep(45 * ms)
		timers.Stop()
		time.Sleep(time.Second)
		if n := timers.Len(); n != 0 {
			t.Errorf("%d timers in a wheel that is stopped", n)
		}
	})
}

package timingwheel

import (
	"testing"
	"testing/synctest"
	"time"
)

// What other timing wheels fail at, where no other test tries it: the models and TestRingExhaustive
// try the rest. go-zero's wheel is tried beside ours in proof/gozero.

// TestYearsOfUptime: timers fire in time after 12 days and one long sleep, when tokio's hung
// (tokio#8334), after 2³⁶ ms, when TiKV's panicked (tikv#11940), and after a century.
func TestYearsOfUptime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		timers := mustTimers(t, ms, 4096)
		began := time.Now()
		for _, uptime := range []time.Duration{12 * day, 1<<32*ms - ms, 1 << 32 * ms, 1<<36*ms - ms, 1 << 36 * ms, 100 * 365 * day} {
			time.Sleep(time.Until(began.Add(uptime)))
			l := newTimes()
			timers.AfterFunc(ms, l.note)
			timers.AfterFunc(time.Hour, l.note)
			time.Sleep(2 * time.Hour)
			l.want(t, 1, 60*60*1000)
		}
	})
}

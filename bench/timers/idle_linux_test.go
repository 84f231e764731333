package timers

import (
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
)

// BenchmarkIdle reports the wake-ups and the processor time of a process in which a million
// timers wait and none is due.
func BenchmarkIdle(b *testing.B) {
	r := allResets(million)[0]
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			t, _ := r.start(c, 1)
			debug.FreeOSMemory() // otherwise the runtime returns memory meanwhile
			waited := time.Duration(b.N) * wait / 2
			woken, used := wakeUps(), cputime.Used()
			time.Sleep(waited)
			b.ReportMetric(float64(wakeUps()-woken)/waited.Seconds(), "wake-ups/s")
			b.ReportMetric(float64((cputime.Used()-used).Microseconds())/waited.Seconds(), "cpu-us/s")
			b.ReportMetric(0, "ns/op")
			t.stop()
		})
	}
}

// wakeUps returns how often threads of the process have waited for something.
func wakeUps() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it only refuses wrong arguments
	return int64(u.Nvcsw)
}

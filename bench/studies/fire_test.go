package studies

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
)

// A firing is a million timers spread over one second, and what their callbacks measured.
type firing struct {
	first time.Duration   // since epoch
	due   []time.Duration // since epoch
	_     [64]byte
	late  atomic.Int64 // the most
	_     [64]byte
	fired [64]struct { // by the lowest bits of i, so that callbacks seldom share a counter
		atomic.Int64
		_ [56]byte
	}
}

func newFiring() *firing {
	f := &firing{first: time.Since(epoch) + wait, due: make([]time.Duration, million)}
	for i := range f.due {
		f.due[i] = f.first + rand.N(wait/4)
	}
	return f
}

// call is the callback of timer i. It gets its time as an argument: reading it from due would
// also measure a cache miss.
func (f *firing) call(i int, due time.Duration) {
	raise(&f.late, -int64(until(due)))
	f.fired[i%len(f.fired)].Add(1)
}

// raise makes a maximum at least v.
func raise(most *atomic.Int64, v int64) {
	for m := most.Load(); v > m && !most.CompareAndSwap(m, v); m = most.Load() {
	}
}

// done reports whether all have fired.
func (f *firing) done() bool {
	fired := int64(0)
	for i := range f.fired {
		fired += f.fired[i].Load()
	}
	return fired == int64(len(f.due))
}

// BenchmarkFire sets a million timers due over one second and reports the processor time per
// timer while they fire, and how late one fired at most.
func BenchmarkFire(b *testing.B) {
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				f := newFiring()
				t := c.open(million, f.call)
				for i, due := range f.due {
					t.set(i, due, func() { f.call(i, due) })
				}
				runtime.GC()
				if until(f.first) < 0 {
					b.Fatal("setting took too long")
				}
				time.Sleep(until(f.first))
				before := cputime.Used()
				for !f.done() {
					time.Sleep(10 * time.Millisecond)
				}
				b.ReportMetric(float64((cputime.Used()-before).Nanoseconds())/float64(len(f.due)), "cpu-ns/timer")
				b.ReportMetric(float64(f.late.Load())/1e6, "worst-late-ms")
				t.stop()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

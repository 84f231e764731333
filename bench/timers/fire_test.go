package timers

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
	"github.com/zeromicro/go-zero/core/collection"
)

// million timers are set within the time wait. Then the first is due, and the others within a
// quarter of wait. -short makes both small, to test that the benchmarks work.
var (
	million = 1_000_000
	wait    = 4 * time.Second
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		million, wait = 1000, 500*time.Millisecond
	}
	os.Exit(m.Run())
}

// A firing is a million timers spread over one second, and what their callbacks measured.
type firing struct {
	due   []time.Duration // after start
	start time.Time
	_     [64]byte
	worst atomic.Int64 // lateness
	_     [64]byte
	fired [64]struct { // by the lowest bits of i, so that callbacks seldom share a counter
		atomic.Int64
		_ [56]byte
	}
}

func newFiring() *firing {
	f := &firing{due: make([]time.Duration, million)}
	for i := range f.due {
		f.due[i] = wait + rand.N(wait/4)
	}
	return f
}

// call is the callback of timer i. It gets its time as an argument: reading it from due would
// also measure a cache miss.
func (f *firing) call(i int, due time.Duration) {
	late := int64(time.Since(f.start) - due)
	for worst := f.worst.Load(); late > worst && !f.worst.CompareAndSwap(worst, late); worst = f.worst.Load() {
	}
	f.fired[i%len(f.fired)].Add(1)
}

// done reports whether all have fired.
func (f *firing) done() bool {
	fired := int64(0)
	for i := range f.fired {
		fired += f.fired[i].Load()
	}
	return fired == int64(len(f.due))
}

// BenchmarkFire sets a million timers due over one second and reports the
// processor time per timer while they fire, and the greatest lateness.
func BenchmarkFire(b *testing.B) {
	for _, c := range []struct {
		name string
		set  func(f *firing) (stop func())
	}{
		{"time", func(f *firing) func() {
			for i, due := range f.due {
				time.AfterFunc(due-time.Since(f.start), func() { f.call(i, due) })
			}
			return func() {}
		}},
		{"pinwheel-handle", func(f *firing) func() {
			w := must(timingwheel.NewTimers(timerTick, timerSlots))
			for i, due := range f.due {
				w.AfterFunc(due-time.Since(f.start), func() { f.call(i, due) })
			}
			return w.Stop
		}},
		{"pinwheel-keyed", func(f *firing) func() {
			w := must(timingwheel.New(timerTick, timerSlots, f.call))
			for i, due := range f.due {
				_ = w.SetTimer(i, due, due-time.Since(f.start))
			}
			return w.Stop
		}},
		{"go-zero", func(f *firing) func() {
			w := must(collection.NewTimingWheel(timerTick, timerSlots, func(k, v any) { f.call(k.(int), v.(time.Duration)) }))
			for i, due := range f.due {
				_ = w.SetTimer(i, due, due-time.Since(f.start))
			}
			return w.Stop
		}},
		{"heap", func(f *firing) func() {
			h := newHeapTimers()
			for i, due := range f.due {
				h.start(due-time.Since(f.start), func() { f.call(i, due) })
			}
			return h.stop
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				f := newFiring()
				f.start = time.Now()
				stop := c.set(f)
				runtime.GC()
				if late := time.Since(f.start); late > wait {
					b.Fatalf("setting took %v, too long", late)
				}
				time.Sleep(time.Until(f.start.Add(wait)))
				before := cputime.Used()
				for !f.done() {
					time.Sleep(10 * time.Millisecond)
				}
				b.ReportMetric(float64((cputime.Used()-before).Nanoseconds())/float64(len(f.due)), "cpu-ns/timer")
				b.ReportMetric(float64(f.worst.Load())/1e6, "worst-late-ms")
				stop()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkTimerBurst reports how long setting a timer takes, at the 99.9th
// percentile and at most, while a million timers fire that are due in one tick.
func BenchmarkTimerBurst(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(fired *atomic.Int64) (set func(key int, d time.Duration), stop func())
	}{
		{"pinwheel-keyed", func(fired *atomic.Int64) (func(int, time.Duration), func()) {
			w := must(timingwheel.New(timerTick, timerSlots, func(int, int) { fired.Add(1) }))
			return func(key int, d time.Duration) { _ = w.SetTimer(key, key, d) }, w.Stop
		}},
		{"pinwheel-handle", func(fired *atomic.Int64) (func(int, time.Duration), func()) {
			w := must(timingwheel.NewTimers(timerTick, timerSlots))
			return func(_ int, d time.Duration) { w.AfterFunc(d, func() { fired.Add(1) }) }, w.Stop
		}},
		{"time", func(fired *atomic.Int64) (func(int, time.Duration), func()) {
			return func(_ int, d time.Duration) { time.AfterFunc(d, func() { fired.Add(1) }) }, func() {}
		}},
		{"go-zero", func(fired *atomic.Int64) (func(int, time.Duration), func()) {
			w := must(collection.NewTimingWheel(timerTick, timerSlots, func(any, any) { fired.Add(1) }))
			return func(key int, d time.Duration) { _ = w.SetTimer(key, key, d) }, w.Stop
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				var fired atomic.Int64
				set, stop := c.make(&fired)
				due := time.Now().Add(wait)
				for key := range million {
					set(key, time.Until(due))
				}
				time.Sleep(time.Until(due))
				var took []time.Duration
				for key := million; len(took) == 0 || int(fired.Load()) < million && time.Since(due) < 20*time.Second; key++ {
					began := time.Now()
					set(million+key%1000, time.Hour)
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*999/1000].Nanoseconds()), "p99.9-ns")
				b.ReportMetric(float64(took[len(took)-1].Nanoseconds()), "max-ns")
				b.ReportMetric(float64(len(took)), "sets")
				stop()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

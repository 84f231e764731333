package timers

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
	"github.com/zeromicro/go-zero/core/collection"
)

// A firing is a million timers spread over one second, and what their callbacks
// saw.
type firing struct {
	due   []time.Duration // after start
	start time.Time
	fired atomic.Int64
	worst atomic.Int64 // lateness
}

func newFiring(n int) *firing {
	f := &firing{due: make([]time.Duration, n)}
	for i := range f.due {
		f.due[i] = 4*time.Second + rand.N(time.Second)
	}
	return f
}

// call is the callback of timer i.
func (f *firing) call(i int) {
	late := int64(time.Since(f.start) - f.due[i])
	for worst := f.worst.Load(); late > worst && !f.worst.CompareAndSwap(worst, late); worst = f.worst.Load() {
	}
	f.fired.Add(1)
}

// BenchmarkFire sets a million timers due over one second and reports the
// processor time per timer while they fire, and the greatest lateness.
func BenchmarkFire(b *testing.B) {
	const million = 1_000_000
	for _, c := range []struct {
		name string
		set  func(f *firing) (stop func())
	}{
		{"time", func(f *firing) func() {
			for i, due := range f.due {
				time.AfterFunc(due-time.Since(f.start), func() { f.call(i) })
			}
			return func() {}
		}},
		{"pinwheel-handle", func(f *firing) func() {
			w, err := timingwheel.NewTimers(timerTick, timerSlots)
			if err != nil {
				b.Fatal(err)
			}
			for i, due := range f.due {
				w.AfterFunc(due-time.Since(f.start), func() { f.call(i) })
			}
			return w.Stop
		}},
		{"pinwheel-keyed", func(f *firing) func() {
			w, err := timingwheel.New(timerTick, timerSlots, func(i, _ int) { f.call(i) })
			if err != nil {
				b.Fatal(err)
			}
			for i, due := range f.due {
				_ = w.SetTimer(i, i, due-time.Since(f.start))
			}
			return w.Stop
		}},
		{"go-zero", func(f *firing) func() {
			w, err := collection.NewTimingWheel(timerTick, timerSlots, func(k, _ any) { f.call(k.(int)) })
			if err != nil {
				b.Fatal(err)
			}
			for i, due := range f.due {
				_ = w.SetTimer(i, i, due-time.Since(f.start))
			}
			return w.Stop
		}},
		{"heap", func(f *firing) func() {
			h := newHeapTimers()
			for i, due := range f.due {
				h.start(due-time.Since(f.start), func() { f.call(i) })
			}
			return h.stop
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				f := newFiring(million)
				f.start = time.Now()
				stop := c.set(f)
				runtime.GC()
				if late := time.Since(f.start); late > 4*time.Second {
					b.Fatalf("setting took %v, too long", late)
				}
				time.Sleep(time.Until(f.start.Add(4 * time.Second)))
				before := cputime.Used()
				for f.fired.Load() < million {
					time.Sleep(10 * time.Millisecond)
				}
				b.ReportMetric(float64((cputime.Used()-before).Nanoseconds())/million, "cpu-ns/timer")
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
	const million = 1_000_000
	for _, c := range []struct {
		name string
		make func(fired *atomic.Int64) (set func(key int, d time.Duration), stop func())
	}{
		{"pinwheel-keyed", func(fired *atomic.Int64) (func(int, time.Duration), func()) {
			w, err := timingwheel.New(timerTick, timerSlots, func(int, int) { fired.Add(1) })
			if err != nil {
				b.Fatal(err)
			}
			return func(key int, d time.Duration) { _ = w.SetTimer(key, key, d) }, w.Stop
		}},
		{"pinwheel-handle", func(fired *atomic.Int64) (func(int, time.Duration), func()) {
			w, err := timingwheel.NewTimers(timerTick, timerSlots)
			if err != nil {
				b.Fatal(err)
			}
			return func(_ int, d time.Duration) { w.AfterFunc(d, func() { fired.Add(1) }) }, w.Stop
		}},
		{"time", func(fired *atomic.Int64) (func(int, time.Duration), func()) {
			return func(_ int, d time.Duration) { time.AfterFunc(d, func() { fired.Add(1) }) }, func() {}
		}},
		{"go-zero", func(fired *atomic.Int64) (func(int, time.Duration), func()) {
			w, err := collection.NewTimingWheel(timerTick, timerSlots, func(any, any) { fired.Add(1) })
			if err != nil {
				b.Fatal(err)
			}
			return func(key int, d time.Duration) { _ = w.SetTimer(key, key, d) }, w.Stop
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				var fired atomic.Int64
				set, stop := c.make(&fired)
				due := time.Now().Add(4 * time.Second)
				for key := range million {
					set(key, time.Until(due))
				}
				time.Sleep(time.Until(due))
				var took []time.Duration
				for key := million; fired.Load() < million && time.Since(due) < 20*time.Second; key++ {
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

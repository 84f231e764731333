package timers

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
	"github.com/zeromicro/go-zero/core/collection"
)

// A timerBench is a timer library with some timers pending, one for each key. Its operations
// may be called by several goroutines at once.
type timerBench struct {
	name      string
	startStop func(i int) // a further timer, started and stopped
	reset     func(i int) // timer i
	stop      func()
}

const (
	timerTick  = 10 * time.Millisecond
	timerSlots = 1024
)

// delay spreads the pending timers over ten minutes, late enough that none fires during a
// benchmark.
func delay(i int) time.Duration { return time.Minute + time.Duration(i%600_000)*time.Millisecond }

const refreshed = time.Hour

// must returns what a constructor has made.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func handleBench(n int) timerBench {
	w := must(timingwheel.NewTimers(timerTick, timerSlots))
	timers := make([]*timingwheel.Timer, n)
	for i := range timers {
		timers[i] = w.AfterFunc(delay(i), func() {})
	}
	return timerBench{
		name:      "pinwheel-handle",
		startStop: func(i int) { w.AfterFunc(delay(i), func() {}).Stop() },
		reset:     func(i int) { timers[i].Reset(refreshed) },
		stop:      w.Stop,
	}
}

func keyedBench(n int) timerBench {
	w := must(timingwheel.New(timerTick, timerSlots, func(int, int) {}))
	for i := range n {
		_ = w.SetTimer(i, i, delay(i))
	}
	return timerBench{
		name: "pinwheel-keyed",
		startStop: func(i int) {
			_ = w.SetTimer(-1-i, i, delay(i))
			_, _ = w.RemoveTimer(-1 - i)
		},
		reset: func(i int) { _, _ = w.MoveTimer(i, refreshed) },
		stop:  w.Stop,
	}
}

func runtimeBench(n int) timerBench {
	timers := make([]*time.Timer, n)
	for i := range timers {
		timers[i] = time.AfterFunc(delay(i), func() {})
	}
	return timerBench{
		name:      "time",
		startStop: func(i int) { time.AfterFunc(delay(i), func() {}).Stop() },
		reset:     func(i int) { timers[i].Reset(refreshed) },
		stop: func() {
			for _, t := range timers {
				t.Stop()
			}
		},
	}
}

func goZeroBench(n int) timerBench {
	w := must(collection.NewTimingWheel(timerTick, timerSlots, func(any, any) {}))
	keys := make([]any, n) // boxed beforehand
	for i := range keys {
		keys[i] = i
		_ = w.SetTimer(keys[i], i, delay(i))
	}
	return timerBench{
		name: "go-zero",
		startStop: func(i int) {
			_ = w.SetTimer(-1-i, i, delay(i))
			_ = w.RemoveTimer(-1 - i)
		},
		reset: func(i int) { _ = w.MoveTimer(keys[i], refreshed) },
		stop:  w.Stop,
	}
}

func heapBench(n int) timerBench {
	h := newHeapTimers()
	timers := make([]*heapTimer, n)
	for i := range timers {
		timers[i] = h.start(delay(i), func() {})
	}
	return timerBench{
		name:      "heap",
		startStop: func(i int) { h.cancel(h.start(delay(i), func() {})) },
		reset:     func(i int) { h.reset(timers[i], refreshed) },
		stop:      h.stop,
	}
}

// pending returns how many timers a benchmark has pending: with -short a few, to test that
// it works.
func pending(full ...int) []int {
	if testing.Short() {
		return []int{1000}
	}
	return full
}

// BenchmarkTimers starts and stops timers, and resets (by handle) or moves (by key) those
// that are pending: in order, so that the processor's caches help, and at random. go-zero
// only has SetTimer and MoveTimer for all of this.
func BenchmarkTimers(b *testing.B) {
	for _, n := range pending(100_000, 1_000_000) {
		for _, bench := range []func(int) timerBench{runtimeBench, handleBench, keyedBench, goZeroBench, heapBench} {
			t := bench(n)
			runtime.GC()
			for _, c := range []struct {
				name string
				op   func(i int)
			}{
				{"start+stop", t.startStop},
				{"reset in order", func(i int) { t.reset(i % n) }},
				{"reset at random", func(i int) { t.reset(int(uint64(i) * 0x9e3779b97f4a7c15 >> 20 % uint64(n))) }},
			} {
				b.Run(fmt.Sprintf("%s/pending=%d/goroutines=1/%s", c.name, n, t.name), func(b *testing.B) {
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						c.op(i)
					}
				})
				b.Run(fmt.Sprintf("%s/pending=%d/goroutines=16/%s", c.name, n, t.name), func(b *testing.B) {
					b.ReportAllocs()
					b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
					b.RunParallel(func(pb *testing.PB) {
						for i := rand.IntN(1 << 30); pb.Next(); i++ {
							c.op(i)
						}
					})
				})
			}
			t.stop()
		}
	}
}

// BenchmarkTimerMemory reports the bytes of a pending timer: by key without the 16 of key and
// value, by handle with the handle. 1,100,000 timers are a bad case: the arrays have just
// been doubled.
func BenchmarkTimerMemory(b *testing.B) {
	f := func() {}
	for _, n := range pending(100_000, 1_000_000, 1_100_000) {
		for _, c := range []struct {
			name string
			fill func() (keep any, stop func())
			less float64
		}{
			{"pinwheel-keyed", func() (any, func()) {
				w := must(timingwheel.New(timerTick, timerSlots, func(uint64, uint64) {}))
				for i := range n {
					_ = w.SetTimer(uint64(i), uint64(i), delay(i))
				}
				return w, w.Stop
			}, 16},
			{"pinwheel-handle", func() (any, func()) {
				w := must(timingwheel.NewTimers(timerTick, timerSlots))
				for i := range n {
					w.AfterFunc(delay(i), f)
				}
				return w, w.Stop
			}, 0},
			{"time", func() (any, func()) {
				timers := make([]*time.Timer, n)
				for i := range timers {
					timers[i] = time.AfterFunc(delay(i), f)
				}
				return timers, func() {
					for _, t := range timers {
						t.Stop()
					}
				}
			}, 8},
		} {
			b.Run(fmt.Sprintf("pending=%d/%s", n, c.name), func(b *testing.B) {
				for range b.N {
					runtime.GC() // what an earlier one left
					before := heapBytes()
					keep, stop := c.fill()
					b.ReportMetric(float64(int64(heapBytes())-int64(before))/float64(n)-c.less, "B/timer")
					stop()
					runtime.KeepAlive(keep)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

package studies

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/phuslu/lru"
	"golang.org/x/sys/unix"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// key spreads dense numbers.
func key(i int) uint64 { return uint64(i) * 0x9E3779B97F4A7C15 }

// used returns the processor time of this thread so far, without pauses by the operating
// system.
func used() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// BenchmarkGrow stores a million entries in an empty cache, and reports the longest Sets,
// by the processor time of their thread and by the clock.
func BenchmarkGrow(b *testing.B) {
	for name, o := range map[string]cache.Options[uint64, uint64]{
		"limit":    {Limit: million, Expire: time.Hour},
		"no limit": {Expire: time.Hour},
		"adaptive": {Limit: million, Expire: time.Hour, Policy: cache.Adaptive},
	} {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range b.N {
				c := cache.Must(o)
				runtime.GC()
				took, clock := make([]time.Duration, million), make([]time.Duration, million)
				start := time.Now()
				for i := range took {
					began, at := used(), time.Now()
					c.Set(key(i), 0)
					clock[i], took[i] = time.Since(at), used()-began
				}
				all := time.Since(start)
				slices.Sort(took)
				slices.Sort(clock)
				b.ReportMetric(float64(took[million-1].Microseconds()), "max-cpu-µs")
				b.ReportMetric(float64(took[million-10].Microseconds()), "10th-cpu-µs")
				b.ReportMetric(float64(took[million-1000].Nanoseconds())/1000, "p99.9-cpu-µs")
				b.ReportMetric(float64(clock[million-1].Microseconds()), "max-µs")
				b.ReportMetric(float64(all.Milliseconds()), "all-ms")
				runtime.KeepAlive(c)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkEvict stores new keys in a full cache in which every entry was read three times since the
// last eviction, so that evictions pass over as many as they may. It reports percentiles of the time
// of a Set, by the clock.
func BenchmarkEvict(b *testing.B) {
	size := million / 10
	for name, p := range map[string]cache.Policy{"LRU": cache.LRU, "Adaptive": cache.Adaptive} {
		b.Run(name, func(b *testing.B) {
			took := make([]time.Duration, 0, b.N)
			for left := b.N; left > 0; left -= size / 10 {
				c := cache.Must(cache.Options[uint64, uint64]{Limit: size, Expire: time.Hour, Policy: p})
				for range 4 {
					for i := range size {
						if _, ok := c.Get(key(i)); !ok {
							c.Set(key(i), 0)
						}
					}
				}
				for i := range min(left, size/10) {
					at := time.Now()
					c.Set(key(2*size+i), 0)
					took = append(took, time.Since(at))
				}
			}
			slices.Sort(took)
			for _, percent := range []float64{50, 99, 99.9} {
				b.ReportMetric(float64(took[int(percent/100*float64(len(took)-1))]), fmt.Sprintf("p%v-ns", percent))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkClear removes a million entries, and reports the longest Gets meanwhile by the
// clock. They include Gets delayed by other programs.
func BenchmarkClear(b *testing.B) {
	for range b.N {
		c := cache.Must(cache.Options[uint64, uint64]{Limit: million, Expire: time.Hour})
		for i := range million {
			c.Set(key(i), 0)
		}
		runtime.GC()
		var done atomic.Bool
		took := make([]time.Duration, 0, 10_000_000)
		var wg sync.WaitGroup
		reading := make(chan struct{})
		wg.Go(func() {
			for i := 0; !done.Load() && len(took) < cap(took); i++ {
				at := time.Now()
				c.Get(key(i % million))
				if took = append(took, time.Since(at)); i == 1000 {
					close(reading)
				}
			}
		})
		<-reading
		start := time.Now()
		c.Clear()
		all := time.Since(start)
		done.Store(true)
		wg.Wait()
		slices.Sort(took)
		n := len(took)
		b.ReportMetric(float64(took[n-1].Microseconds()), "max-µs")
		b.ReportMetric(float64(took[n-1-n/10_000].Nanoseconds())/1000, "p99.99-µs")
		b.ReportMetric(float64(took[n-1-n/1000].Nanoseconds())/1000, "p99.9-µs")
		b.ReportMetric(float64(all.Milliseconds()), "all-ms")
		b.ReportMetric(float64(n), "gets")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCollect measures a garbage collection beside five million values that are pointers.
func BenchmarkCollect(b *testing.B) {
	type value = [2]uint64
	n := 5 * million
	for _, c := range []struct {
		name string
		make func() (set func(uint64, *value))
	}{
		{"pinwheel", func() func(uint64, *value) {
			return cache.Must(cache.Options[uint64, *value]{Limit: n, Expire: time.Hour}).Set
		}},
		{"phuslu", func() func(uint64, *value) {
			c := lru.NewTTLCache[uint64, *value](n)
			return func(k uint64, v *value) { c.Set(k, v, time.Hour) }
		}},
		{"otter", func() func(uint64, *value) {
			c := otter.Must(&otter.Options[uint64, *value]{MaximumSize: n, ExpiryCalculator: otter.ExpiryWriting[uint64, *value](time.Hour)})
			return func(k uint64, v *value) { c.Set(k, v) }
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			set := c.make()
			for i := range n {
				set(key(i), new(value))
			}
			runtime.GC()
			for b.Loop() {
				runtime.GC()
			}
			runtime.KeepAlive(set)
		})
	}
}

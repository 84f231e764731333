//go:build linux

package pauses

import (
	"flag"
	"os"
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

// million is the number of entries; -short makes it a few, to test that the benchmarks work.
var million = 1_000_000

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		million = 10_000
	}
	os.Exit(m.Run())
}

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

// filled returns a cache that is full.
func filled(limit int) *cache.Cache[uint64, uint64] {
	c := cache.Must(cache.Options[uint64, uint64]{Limit: limit, Expire: time.Hour})
	for i := range 2 * limit {
		c.Set(key(-i), 0)
	}
	return c
}

// BenchmarkGrow stores a million entries in an empty cache, and reports the longest Sets,
// by the processor time of their thread and by the clock.
func BenchmarkGrow(b *testing.B) {
	for _, c := range []struct {
		name string
		make func() *cache.Cache[uint64, uint64]
	}{
		{"limit", func() *cache.Cache[uint64, uint64] {
			return cache.Must(cache.Options[uint64, uint64]{Limit: million, Expire: time.Hour})
		}},
		{"no limit", func() *cache.Cache[uint64, uint64] {
			return cache.Must(cache.Options[uint64, uint64]{Expire: time.Hour})
		}},
		{"adaptive", func() *cache.Cache[uint64, uint64] {
			return cache.Must(cache.Options[uint64, uint64]{Limit: million, Expire: time.Hour, Policy: cache.Adaptive})
		}},
		{"resized 4k", func() *cache.Cache[uint64, uint64] {
			c := filled(4096)
			_ = c.Resize(million)
			return c
		}},
		{"resized 100k", func() *cache.Cache[uint64, uint64] {
			c := filled(million / 10)
			_ = c.Resize(million)
			return c
		}},
		{"resized in a walk", func() *cache.Cache[uint64, uint64] {
			c := filled(4096)
			resized := false
			for range c.All() { // a walk, during which the shards stay as they are
				if resized {
					break
				}
				resized = true
				_ = c.Resize(million)
				for i := range million / 2 {
					c.Set(key(-i-10000), 0)
				}
			}
			return c
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range b.N {
				c := c.make()
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

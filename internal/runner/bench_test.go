package runner

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

// BenchmarkPushRun measures an item's way through the runner, with producers
// that wait as the cache's do.
func BenchmarkPushRun(b *testing.B) {
	for _, workers := range []int{1, runtime.GOMAXPROCS(0), 64} {
		for _, keys := range []uint64{1, 1 << 20} {
			b.Run(fmt.Sprintf("workers=%d/keys=%d", workers, keys), func(b *testing.B) {
				r := New(workers, 1024, func(uint64) {}, nil)
				ctx := b.Context()
				var seed atomic.Uint64
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for i := seed.Add(1 << 32); pb.Next(); i++ {
						r.Push(i*0x9e3779b97f4a7c15%keys, i)
						_ = r.Wait(ctx)
					}
				})
				_ = r.Drain(context.Background())
			})
		}
	}
}

func BenchmarkInCallback(b *testing.B) {
	for _, depth := range []int{10, 100, 10_000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			atDepth(depth, func() {
				for b.Loop() {
					InCallback()
				}
			})
		})
	}
}

// BenchmarkPoolList works through a list of trivial callbacks: with a Wake for
// each, as it is added, and with one for all.
func BenchmarkPoolList(b *testing.B) {
	const items = 10_000
	for _, workers := range []int{1, 2, 64} {
		for name, put := range map[string]func(*list, func()){"each": (*list).add, "one": (*list).put} {
			b.Run(fmt.Sprintf("workers=%d/wake=%s", workers, name), func(b *testing.B) {
				l := newList(workers, nil)
				f := func() {}
				b.ReportAllocs()
				for b.Loop() {
					for range items {
						put(l, f)
					}
					l.Wake()
					_ = l.Drain(context.Background())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item")
			})
		}
	}
}

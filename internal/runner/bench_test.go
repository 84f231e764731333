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

// BenchmarkPushRunIdle starts a worker for every item.
func BenchmarkPushRunIdle(b *testing.B) {
	done := make(chan struct{}, 1)
	r := New(4, 1024, func(int) { done <- struct{}{} }, nil)
	b.ReportAllocs()
	for b.Loop() {
		r.Push(0, 0)
		<-done
	}
	_ = r.Drain(context.Background())
}

// BenchmarkPushBlocked only pushes: the cost under the producer's lock.
func BenchmarkPushBlocked(b *testing.B) {
	gate := make(chan struct{})
	r := New(1, 1024, func(i int) {
		if i < 0 {
			<-gate
		}
	}, nil)
	r.Push(0, -1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Push(uint64(i), i)
	}
	b.StopTimer()
	close(gate)
	_ = r.Drain(context.Background())
}

func BenchmarkWait(b *testing.B) {
	r := New(1, 1024, func(int) {}, nil)
	ctx := b.Context()
	for b.Loop() {
		_ = r.Wait(ctx)
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

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

// BenchmarkWake is what a tick pays while all workers run, and without work.
func BenchmarkWake(b *testing.B) {
	for _, busy := range []bool{true, false} {
		b.Run(fmt.Sprintf("busy=%v", busy), func(b *testing.B) {
			l := newList(1, nil)
			g := newGate()
			if busy {
				l.add(g.call)
				<-g.entered
			}
			for b.Loop() {
				l.Wake()
			}
			g.open()
			_ = l.Drain(context.Background())
		})
	}
}

// BenchmarkCaller has callers that find work.
func BenchmarkCaller(b *testing.B) {
	p := NewPool(1, func() bool { return true }, func() bool { return false }, nil)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p.Run(func() { p.next() })
		}
	})
}

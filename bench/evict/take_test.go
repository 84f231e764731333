package evict

import (
	"runtime"
	"sync"
	"testing"
)

// BenchmarkTake takes new keys with a fetch that returns at once, in as many goroutines as
// -cpu says.
func BenchmarkTake(b *testing.B) {
	c := sync.OnceValue(func() *churned[string] { return churn(100_000, 0, text) })
	b.Run("string/100000", func(b *testing.B) {
		c := c()
		b.ReportAllocs()
		measured(b, func() {
			for left := b.N; left > 0; left -= len(c.ring) {
				b.StopTimer()
				paused(c.prepare)
				b.StartTimer()
				c.take(min(left, len(c.ring)))
			}
		})
	})
}

// take takes the first n keys of the ring, each goroutine a part of them.
func (c *churned[K]) take(n int) {
	c.sets += uint64(n)
	procs := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for p := range procs {
		all.Go(func() {
			for _, key := range c.ring[p*n/procs : (p+1)*n/procs] {
				_, _ = c.Take(key, func() (uint64, error) { return 1, nil })
			}
		})
	}
	all.Wait()
}

package evict

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// BenchmarkWorst stores new keys in a full cache in which every entry was read three times
// since the last eviction, so that evictions pass over as many as they may. It reports
// percentiles of the time of a Set, by the wall clock.
func BenchmarkWorst(b *testing.B) {
	const size = 100_000
	for name, p := range policies {
		b.Run(fmt.Sprintf("%d/%s", size, name), func(b *testing.B) {
			times := make([]time.Duration, 0, b.N)
			for left := b.N; left > 0; left -= size / 10 {
				b.StopTimer()
				c := readThrice(size, p)
				b.StartTimer()
				for i := range uint64(min(left, size/10)) {
					start := time.Now()
					c.Set(integer(2*size+i), i)
					times = append(times, time.Since(start))
				}
			}
			slices.Sort(times)
			for _, percent := range []float64{50, 99, 99.9} {
				at := times[int(percent/100*float64(len(times)-1))]
				b.ReportMetric(float64(at), fmt.Sprintf("p%v-ns", percent))
			}
		})
	}
}

// readThrice returns a full, used cache in which every entry has the most marks.
func readThrice(size int, p cache.Policy) *cache.Cache[uint64, uint64] {
	c := cache.Must(cache.Options[uint64, uint64]{Limit: size, Expire: time.Hour, Policy: p})
	for range 4 {
		for i := range uint64(size) {
			if _, ok := c.Get(integer(i)); !ok {
				c.Set(integer(i), i)
			}
		}
	}
	return c
}

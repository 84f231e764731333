package cache_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// BenchmarkRecord compares operations of a cache that is not recorded, of one that is,
// at one key in 64, and of one that was. From outside: see inline.go.
func BenchmarkRecord(b *testing.B) {
	const keys = 1 << 16
	for _, name := range []string{"off", "on", "over"} {
		c := cache.Must(cache.Options[uint64, uint64]{Limit: keys})
		for key := range uint64(keys) {
			c.Set(key, key)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var done sync.WaitGroup
		if name != "off" {
			done.Go(func() { _ = c.Record(ctx, io.Discard, 64) })
		}
		if name == "over" {
			cancel()
			done.Wait()
		}
		b.Run("Get/"+name, func(b *testing.B) {
			for i := range b.N {
				c.Get(uint64(i) * 0x9E3779B97F4A7C15 >> 48)
			}
		})
		b.Run("SetOfLiveKey/"+name, func(b *testing.B) {
			for i := range b.N {
				c.Set(uint64(i)*0x9E3779B97F4A7C15>>48, 1)
			}
		})
		b.Run("GetThreads/"+name, func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				for i := uint64(0); p.Next(); i++ {
					c.Get(i * 0x9E3779B97F4A7C15 >> 48)
				}
			})
		})
		cancel()
		done.Wait()
	}
}

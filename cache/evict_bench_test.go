package cache

import (
	"context"
	"testing"
	"time"
)

// BenchmarkEvict stores new keys in a full cache that stays in the caches of a processor.
func BenchmarkEvict(b *testing.B) {
	c := Must(Options[uint64, uint64]{Limit: 1000, Expire: time.Hour, Unlisted: true})
	defer c.Close(context.Background())
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		c.Set(i*0x9E3779B97F4A7C15, i)
	}
}

package cache_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// BenchmarkRandomTTL gives present entries random TTLs, by Touch and by Set: every other
// deadline comes earlier than the one before.
func BenchmarkRandomTTL(b *testing.B) {
	const entries = 100_000
	ttls := make([]time.Duration, 1<<12)
	for i := range ttls {
		ttls[i] = time.Duration((0.5 + rand.Float64()) * float64(time.Hour))
	}
	keys := rand.Perm(1 << 17)
	for _, of := range []struct {
		name string
		do   func(c *cache.Cache[uint64, uint64], key uint64, ttl time.Duration)
	}{
		{"Touch", func(c *cache.Cache[uint64, uint64], key uint64, ttl time.Duration) { c.Touch(key, ttl) }},
		{"Set", func(c *cache.Cache[uint64, uint64], key uint64, ttl time.Duration) { c.SetWithExpire(key, key, ttl) }},
	} {
		b.Run(of.name, func(b *testing.B) {
			c := cache.Must(cache.Options[uint64, uint64]{Limit: entries, Expire: time.Hour})
			for i := range uint64(entries) {
				c.Set(i, i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				of.do(c, uint64(keys[i%len(keys)]%entries), ttls[i%len(ttls)])
			}
		})
	}
}

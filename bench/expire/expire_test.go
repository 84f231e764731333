// Package expire measures the removal of expired entries.
package expire

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
	"github.com/pinwheel-cache/pinwheel/cache"
)

// million entries begin to expire after wait, and are gone after a quarter more. -short makes
// both small, to test that the benchmark works.
var (
	million = 1_000_000
	wait    = 4 * time.Second
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		million, wait = 10_000, 500*time.Millisecond
	}
	os.Exit(m.Run())
}

func integer(i int) uint64 { return uint64(i) * 0x9E3779B97F4A7C15 }
func text(i int) string    { return fmt.Sprintf("key:%016x", integer(i)) }

// BenchmarkExpire stores a million entries that expire within a second, in any order, and
// reports the processor time that removing one takes, and the mean lateness.
func BenchmarkExpire(b *testing.B) {
	b.Run("uint64", func(b *testing.B) { expire(b, integer, cache.Options[uint64, uint64]{}) })
	b.Run("string", func(b *testing.B) { expire(b, text, cache.Options[string, uint64]{}) })
	b.Run("string, limit", func(b *testing.B) {
		expire(b, text, cache.Options[string, uint64]{Limit: 2 * million})
	})
	b.Run("string, Adaptive", func(b *testing.B) {
		expire(b, text, cache.Options[string, uint64]{Limit: 2 * million, Policy: cache.Adaptive})
	})
}

func expire[K comparable](b *testing.B, key func(int) K, o cache.Options[K, uint64]) {
	o.Expire = time.Hour
	for range b.N {
		c := cache.Must(o)
		keys := make([]K, million)
		for i := range keys {
			keys[i] = key(i)
		}
		start := time.Now().Add(wait)
		for _, i := range rand.Perm(million) {
			c.SetWithExpire(keys[i], 0, time.Until(start)+rand.N(wait/4))
		}
		runtime.GC()
		if late := time.Since(start); late > 0 {
			b.Fatalf("stored %v too late", late)
		}
		time.Sleep(time.Until(start))
		before := cputime.Used()
		time.Sleep(wait/4 + 100*time.Millisecond)
		for c.Len() > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		b.ReportMetric(float64(cputime.Used()-before)/float64(million), "cpu-ns/entry")
		lateness := c.Stats().Expiry.Lateness
		b.ReportMetric(lateness.Sum().Seconds()*1000/float64(million), "late-ms")
		runtime.KeepAlive(keys)
	}
	b.ReportMetric(0, "ns/op")
}

package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/logx"
)

const entries = 100_000

// keys are 20 bytes long, made beforehand.
var keys = func() []string {
	keys := make([]string, 4*entries)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%016d", i)
	}
	return keys
}()

var value any = new(int)

// parallel calls op with a number that differs between goroutines and counts up
// from call to call.
func parallel(b *testing.B, op func(i int)) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := rand.IntN(len(keys)); pb.Next(); i++ {
			op(i)
		}
	})
}

// full returns our cache and go-zero's, both full of live entries.
func full(b *testing.B) (*cache.Cache[string, any], *collection.Cache) {
	logx.Disable()
	c := cache.Must(cache.Options[string, any]{Limit: entries, Expire: time.Hour})
	z, err := collection.NewCache(time.Hour, collection.WithLimit(entries))
	if err != nil {
		b.Fatal(err)
	}
	for _, key := range keys[:entries] {
		c.Set(key, value)
		z.Set(key, value)
	}
	return c, z
}

// BenchmarkRefresh renews the TTL of live entries, the same one for all.
func BenchmarkRefresh(b *testing.B) {
	c, z := full(b)
	for name, refresh := range map[string]func(key string){
		"pinwheel/SetWithExpire": func(key string) { c.SetWithExpire(key, value, time.Hour) },
		"pinwheel/Touch":         func(key string) { c.Touch(key, time.Hour) },
		"go-zero/SetWithExpire":  func(key string) { z.SetWithExpire(key, value, time.Hour) },
	} {
		b.Run(name, func(b *testing.B) {
			parallel(b, func(i int) { refresh(keys[i%entries]) })
		})
	}
}

// BenchmarkEvict stores new keys with a TTL in a full cache.
func BenchmarkEvict(b *testing.B) {
	c, z := full(b)
	for name, set := range map[string]func(key string){
		"pinwheel": func(key string) { c.Set(key, value) },
		"go-zero":  func(key string) { z.Set(key, value) },
	} {
		b.Run(name, func(b *testing.B) {
			parallel(b, func(i int) { set(keys[i%len(keys)]) })
		})
	}
}

// BenchmarkGet reads live entries.
func BenchmarkGet(b *testing.B) {
	c, z := full(b)
	for name, get := range map[string]func(key string){
		"pinwheel": func(key string) { c.Get(key) },
		"go-zero":  func(key string) { z.Get(key) },
	} {
		b.Run(name, func(b *testing.B) {
			parallel(b, func(i int) { get(keys[i%entries]) })
		})
	}
}

// BenchmarkMemory reports the bytes that an entry takes, key and value included,
// in a full cache of a million with TTLs.
func BenchmarkMemory(b *testing.B) {
	const million = 1_000_000
	for range b.N {
		before := heapBytes()
		c := cache.Must(cache.Options[uint64, uint64]{Limit: million, Expire: time.Hour})
		for i := range uint64(2 * million) {
			c.Set(i, i)
		}
		b.ReportMetric(float64(heapBytes()-before)/float64(c.Len()), "B/entry")
		runtime.KeepAlive(c)
	}
	b.ReportMetric(0, "ns/op")
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkBurst reports how long a Set takes, at the 99.9th percentile and at
// most, while a million entries expire in one and the same tick.
func BenchmarkBurst(b *testing.B) {
	const million = 1_000_000
	for range b.N {
		c := cache.Must(cache.Options[uint64, uint64]{})
		due := time.Now().Add(3 * time.Second)
		for i := range uint64(million) {
			c.SetWithExpire(i, i, time.Until(due))
		}
		time.Sleep(time.Until(due))
		var took []time.Duration
		for i := uint64(million); c.Len() > million/100 && time.Since(due) < 10*time.Second; i++ {
			began := time.Now()
			c.SetWithExpire(i%1000+million, i, time.Hour)
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*999/1000].Nanoseconds()), "p99.9-ns")
		b.ReportMetric(float64(took[len(took)-1].Nanoseconds()), "max-ns")
		b.ReportMetric(float64(len(took)), "Sets")
		b.ReportMetric(float64(c.Stats().Removals.Expired), "expired")
	}
	b.ReportMetric(0, "ns/op")
}

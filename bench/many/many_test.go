// Package many has benchmarks of loading many keys at once.
package many

import (
	"context"
	"fmt"
	"testing"

	"github.com/maypok86/otter/v2"

	"github.com/pinwheel-cache/pinwheel/cache"
)

const (
	page  = 100 // keys of a call
	pages = 1000
)

// A reader has a page of values from a cache, and forgets it.
type reader struct {
	name   string
	read   func(keys []uint64) int
	forget func(key uint64)
}

func value(key uint64) uint64 { return key + 1 }

func values(keys []uint64) map[uint64]uint64 {
	all := make(map[uint64]uint64, len(keys))
	for _, key := range keys {
		all[key] = value(key)
	}
	return all
}

func readers() []reader {
	ctx := context.Background()
	p := cache.Must(cache.Options[uint64, uint64]{Limit: 2 * page * pages})
	o := otter.Must(&otter.Options[uint64, uint64]{MaximumSize: 2 * page * pages})
	load := otter.BulkLoaderFunc[uint64, uint64](func(_ context.Context, keys []uint64) (map[uint64]uint64, error) { return values(keys), nil })
	return []reader{
		{"TakeMany", func(keys []uint64) int {
			found, _ := p.TakeMany(ctx, keys, func(_ context.Context, missing []uint64) (map[uint64]uint64, error) { return values(missing), nil })
			return len(found)
		}, func(key uint64) { p.Del(key) }},
		{"Takes", func(keys []uint64) int {
			found := make(map[uint64]uint64, len(keys))
			for _, key := range keys {
				found[key], _ = p.Take(key, func() (uint64, error) { return value(key), nil })
			}
			return len(found)
		}, func(key uint64) { p.Del(key) }},
		{"otter BulkGet", func(keys []uint64) int {
			found, _ := o.BulkGet(ctx, keys, load)
			return len(found)
		}, func(key uint64) { o.Invalidate(key) }},
	}
}

// BenchmarkMany reads pages of 100 keys of which some are missing. The time of a database is
// not included: TakeMany and BulkGet ask it once, Takes once for each key.
func BenchmarkMany(b *testing.B) {
	for _, missing := range []int{0, 10, page} {
		for _, r := range readers() {
			b.Run(fmt.Sprintf("missing=%d/%s", missing, r.name), func(b *testing.B) {
				keys := make([]uint64, page)
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					b.StopTimer()
					for i := range keys {
						keys[i] = uint64(n%pages*page + i)
					}
					if n < pages {
						r.read(keys)
					}
					for _, key := range keys[:missing] {
						r.forget(key)
					}
					b.StartTimer()
					if got := r.read(keys); got != page {
						b.Fatalf("%d of %d values", got, page)
					}
				}
			})
		}
	}
}

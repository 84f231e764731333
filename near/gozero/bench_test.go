package gozero_test

import (
	"testing"

	"github.com/zeromicro/go-zero/core/stores/cache"

	"github.com/pinwheel-cache/pinwheel/near/gozero"
)

// BenchmarkHit measures a Take of a row from memory, and by go-zero's cache from the same
// Redis over loopback. Both decode JSON.
func BenchmarkHit(b *testing.B) {
	s := server(b)
	for name, c := range map[string]cache.Cache{"near": newNear(b, gozero.Conf{}, nodes(s.Addr)), "gozero": plain(nodes(s.Addr))} {
		b.Run(name, func(b *testing.B) {
			check(b, c.Set(key, row{ID: 7, Name: "Ann"}))
			b.ReportAllocs()
			for b.Loop() {
				var got row
				if err := c.Take(&got, key, nil); err != nil || got.ID != 7 {
					b.Fatal(got, err)
				}
			}
		})
	}
}

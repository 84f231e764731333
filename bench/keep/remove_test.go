package keep

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// BenchmarkRemove removes 1 % and 10 % of a million entries, those of one tenant:
// with DelFunc; with a walk and Del, which races with loads; and with an index from
// tenants to keys, maintained outside the cache; BenchmarkFill has the cost of that.
func BenchmarkRemove(b *testing.B) {
	for _, tenants := range []int{100, 10} {
		for _, way := range []struct {
			name   string
			remove func(*tagged) int
		}{
			{"DelFunc", func(t *tagged) int { return t.DelFunc(func(_ int64, u *member) bool { return u.tenant == 0 }) }},
			{"walk", (*tagged).walk},
			{"index", (*tagged).byIndex},
		} {
			b.Run(fmt.Sprintf("%d%%/%s", 100/tenants, way.name), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					t := newTagged(tenants, way.name == "index")
					runtime.GC()
					b.StartTimer()
					if n := way.remove(t); n != million/tenants {
						b.Fatalf("removed %d", n)
					}
					b.StopTimer()
					_ = t.Close(context.Background())
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(million), "ns/entry")
			})
		}
	}
}

// BenchmarkFill measures a Set with and without the index.
func BenchmarkFill(b *testing.B) {
	for _, index := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "index"}[index], func(b *testing.B) {
			for range b.N {
				t := newTagged(100, index)
				_ = t.Close(context.Background())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(million), "ns/entry")
		})
	}
}

type member struct{ tenant int }

// A tagged cache knows, if it has an index, the keys of each tenant.
type tagged struct {
	*cache.Cache[int64, *member]
	index map[int]map[int64]struct{}
}

func newTagged(tenants int, index bool) *tagged {
	t := &tagged{Cache: cache.Must(cache.Options[int64, *member]{})}
	if index {
		t.index = make(map[int]map[int64]struct{})
	}
	for i := range int64(million) {
		m := &member{int(i) % tenants}
		t.Set(i, m)
		if index {
			if t.index[m.tenant] == nil {
				t.index[m.tenant] = make(map[int64]struct{})
			}
			t.index[m.tenant][i] = struct{}{}
		}
	}
	return t
}

func (t *tagged) walk() (n int) {
	for key, m := range t.All() {
		if m.tenant == 0 && t.Del(key) {
			n++
		}
	}
	return n
}

func (t *tagged) byIndex() (n int) {
	for key := range t.index[0] {
		if t.Del(key) {
			n++
		}
	}
	delete(t.index, 0)
	return n
}

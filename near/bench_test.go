package near_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// BenchmarkHit compares a hit in memory with one of the same cache without a source.
func BenchmarkHit(b *testing.B) {
	b.Run("pointer", func(b *testing.B) { benchmarkHit(b, new(int), near.Options[int, *int]{MaxLag: time.Hour}) })
	b.Run("struct", func(b *testing.B) {
		benchmarkHit(b, four{}, near.Options[int, four]{MaxLag: time.Hour})
	})
	b.Run("Tracer", func(b *testing.B) {
		benchmarkHit(b, new(int), near.Options[int, *int]{MaxLag: time.Hour, Tracer: new(tape).trace})
	})
	b.Run("Audit", func(b *testing.B) { benchmarkHit(b, new(int), near.Options[int, *int]{MaxLag: time.Hour, Audit: 1000}) })
	b.Run("CheckClock", func(b *testing.B) {
		benchmarkHit(b, new(int), near.Options[int, *int]{MaxLag: 10 * time.Second, CheckClock: true}) // confirmed once: it must not take as long
	})
}

type four struct{ Name, Mail, City, Team string }

func benchmarkHit[V any](b *testing.B, value V, o near.Options[int, V]) {
	const n = 1024
	plain := cache.Must(cache.Options[int, V]{Limit: 2 * n})
	h := &hand{began: make(chan struct{})}
	o.Limit = 2 * n
	c, err := near.New(newServer(), h, o)
	must(b, err)
	defer c.Close(b.Context())
	<-h.began
	h.ChangedAll()
	h.vouch()
	ctx := b.Context()
	fetch := func(context.Context) (V, error) { return value, nil }
	for i := range n {
		plain.Set(i, value)
		c.Take(ctx, i, fetch)
	}
	one, other := 0, 0
	compare(b,
		func() { plain.TakeCtx(ctx, one%n, fetch); one++ },
		func() { c.Take(ctx, other%n, fetch); other++ })
}

// compare runs two functions by turns, in slices so short that other load of the machine
// affects both alike, and reports the median slice of each, in nanoseconds per call.
func compare(b *testing.B, plain, near func()) {
	const calls = 1000
	var took [2][]float64
	for b.Loop() {
		for i, f := range []func(){plain, near} {
			began := time.Now()
			for range calls {
				f()
			}
			took[i] = append(took[i], float64(time.Since(began))/calls)
		}
	}
	for i, name := range []string{"plain-ns", "near-ns"} {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/2], name)
		b.ReportMetric(took[i][len(took[i])/20], name+"-p5")
	}
	b.ReportMetric(0, "ns/op")
}

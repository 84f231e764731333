package near_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// BenchmarkHit compares a hit here with that of the same cache without a source.
func BenchmarkHit(b *testing.B) {
	const n = 1024
	value := new(int)
	plain := cache.Must(cache.Options[int, *int]{Limit: 2 * n})
	s, h := newServer(), new(hand)
	c, err := near.New(s, h, near.Options[int, *int]{Limit: 2 * n, MaxLag: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(b.Context())
	for h.Watcher == nil {
		time.Sleep(time.Millisecond)
	}
	h.ChangedAll()
	h.vouch()
	for i := range n {
		plain.Set(i, value)
		s.put(strconv.Itoa(i), near.Item{State: near.Found, Value: []byte("1")})
		c.Get(b.Context(), i)
	}
	ctx := b.Context()
	one, other := int(0), int(0)
	compare(b, func() { plain.Get(one % n); one++ }, func() { c.Get(ctx, other%n); other++ })
}

// compare runs two functions by turns, in slices so short that what else the machine does
// falls on both alike, and reports the median slice of each, in nanoseconds for a call.
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

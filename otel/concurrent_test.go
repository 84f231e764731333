package otelpinwheel_test

import (
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// Readers collect while caches come, are used, and go. No counter of a cache falls.
func TestConcurrent(t *testing.T) {
	c := cache.Must(cache.Options[int, int]{Name: "stays", Limit: 100, Expire: time.Minute, Ages: true})
	var all sync.WaitGroup
	for range 2 {
		reader := newReader(t)
		all.Go(func() {
			var last float64
			for range 50 {
				var into metricdata.ResourceMetrics
				if err := reader.Collect(t.Context(), &into); err != nil {
					t.Error(err)
				}
				if puts := collect(t, reader)[sample{"pinwheel.cache.puts", "stays", "", ""}]; puts < last {
					t.Errorf("%v puts after %v", puts, last)
				} else {
					last = puts
				}
			}
		})
	}
	all.Go(func() {
		for n := range 1000 {
			c.Set(n, n)
			come := cache.Must(cache.Options[int, int]{Name: "comes"})
			come.Set(n, n)
			if err := come.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	reader := newReader(t)
	if got := collect(t, reader)[sample{"pinwheel.cache.puts", "stays", "", ""}]; got != 1000 {
		t.Errorf("%v puts, want 1000", got)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// BenchmarkThousandCaches is a collection of a thousand caches with something in every
// number, and of their histograms.
func BenchmarkThousandCaches(b *testing.B) {
	s := full(new(numbers))
	for range 1000 {
		registerCache(b, "users", &s)
	}
	reader := newReader(b)
	if n := len(stats.Caches()); n < 1000 {
		b.Fatalf("%d caches", n)
	}
	var into metricdata.ResourceMetrics
	b.ReportAllocs()
	for b.Loop() {
		if err := reader.Collect(b.Context(), &into); err != nil {
			b.Fatal(err)
		}
	}
}

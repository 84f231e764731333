package stats_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// benchmarked returns registries of ten caches and a full history.
func benchmarked() *stats.Registry {
	r := new(stats.Registry)
	for i := range 10 {
		s := distinct(uint64(1000 * i))
		r.Add(stats.CacheSource{Name: fmt.Sprint("cache ", i), Snapshot: always(s), HotKeys: func() []stats.HotKey {
			return make([]stats.HotKey, 10)
		}})
	}
	sampleAll(r)
	return r
}

// sampleAll gives all caches a full history.
func sampleAll(r *stats.Registry) {
	at := time.Now().Add(-305 * time.Second)
	for range 61 {
		r.Sample(at)
		at = at.Add(5 * time.Second)
	}
}

func BenchmarkStatsJSON(b *testing.B) {
	for _, query := range []string{"", "?points=1", "?points=61"} {
		b.Run(query, func(b *testing.B) {
			r := benchmarked()
			h := r.Handler()
			b.ReportAllocs()
			for b.Loop() {
				serve(h, http.MethodGet, "/stats.json"+query)
			}
			b.ReportMetric(float64(len(body(b, h, "/stats.json"+query))), "B/answer")
		})
	}
}

// BenchmarkSample is what ten caches cost every five seconds.
func BenchmarkSample(b *testing.B) {
	r := benchmarked()
	at := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(5 * time.Second)
		r.Sample(at)
	}
}

func BenchmarkMetrics(b *testing.B) {
	r := benchmarked()
	h := r.Handler()
	b.ReportAllocs()
	for b.Loop() {
		serve(h, http.MethodGet, "/metrics")
	}
}

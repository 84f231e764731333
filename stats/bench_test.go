package stats_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// sampleAll gives all caches a full history.
func sampleAll(r *stats.Registry) {
	at := time.Now().Add(-305 * time.Second)
	for range 61 {
		r.Sample(at)
		at = at.Add(5 * time.Second)
	}
}

// A discard is a client that discards answers.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// BenchmarkThousandCaches is a scrape, a poll of the page, and a sample, of a thousand caches with
// something in every number and a full history.
func BenchmarkThousandCaches(b *testing.B) {
	r := new(stats.Registry)
	for i := range 1000 {
		r.Register("users", always(distinct(uint64(i))))
	}
	sampleAll(r)
	h := r.Handler()
	for _, target := range []string{"/metrics", "/stats.json?points=4", "/stats.json?points=61"} {
		for _, coding := range []string{"identity", "gzip"} {
			b.Run(target+" "+coding, func(b *testing.B) {
				b.ReportAllocs()
				request := httptest.NewRequest(http.MethodGet, target, nil)
				request.Header.Set("Accept-Encoding", coding)
				for b.Loop() {
					h.ServeHTTP(discard{http.Header{}}, request)
				}
			})
		}
	}
	b.Run("sample", func(b *testing.B) {
		b.ReportAllocs()
		for at := time.Now(); b.Loop(); at = at.Add(5 * time.Second) {
			r.Sample(at)
		}
	})
}

package stats_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// discard is a client that discards answers.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (discard) WriteHeader(int)             {}

// BenchmarkThousandCaches is a scrape, and a poll of the page, of a thousand caches with
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
}

package handler

import (
	"net/http"
	"strings"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// StatsHandler serves the statistics of all caches of the process below /cache/.
func StatsHandler() http.HandlerFunc {
	h := stats.Handler()
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/cache") {
			// The page's links are relative to /cache/. So is this one, to be
			// right behind a proxy that adds a prefix too.
			w.Header().Set("Location", "cache/")
			w.WriteHeader(http.StatusFound)
			return
		}
		h.ServeHTTP(w, r)
	}
}

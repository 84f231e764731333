package handler

import (
	"net/http"

	"github.com/pinwheel-cache/pinwheel/examples/service/internal/quickstart"
)

// IndexHandler serves GET /: the lines to try, with the address the client used.
func IndexHandler() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		quickstart.Write(w, "http://"+r.Host)
	}
}

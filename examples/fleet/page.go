package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

//go:embed page.html
var page []byte

// handler serves the page and its numbers, and the statistics of the caches.
func (f *fleet) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	})
	mux.HandleFunc("GET /numbers.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(f.summary()); err != nil {
			slog.Warn("fleet: the page was not told", "error", err)
		}
	})
	mux.Handle("GET /cache/", stats.Handler())
	return mux
}

// serve serves the page until ctx ends.
func (f *fleet) serve(ctx context.Context, l net.Listener) {
	server := &http.Server{Handler: f.handler(), ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); err != http.ErrServerClosed {
		slog.Error("fleet: no page", "error", err)
	}
}

package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func main() {
	sessions := cache.Must(cache.Options[string, string]{
		Name:   "sessions",
		Limit:  10_000,
		Expire: 30 * time.Second,
		OnRemove: func(e cache.Event[string, string]) {
			fmt.Println(e.Value, "left:", e.Cause)
		},
	})
	sessions.Set("s1", "ann")

	http.HandleFunc("/beat", func(http.ResponseWriter, *http.Request) {
		sessions.Touch("s1", 30*time.Second) // a sign of life
	})
	http.Handle("/cache/", stats.Handler()) // the page, /cache/stats.json, /cache/metrics
	http.ListenAndServe("127.0.0.1:8080", nil)
}

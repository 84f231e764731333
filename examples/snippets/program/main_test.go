// main.go
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

var names = cache.Must(cache.Options[string, string]{
	Name: "names", Limit: 10_000, Expire: time.Minute, Refresh: 0.8, Grace: time.Hour,
})

func main() {
	http.HandleFunc("/name/{id}", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		name, err := names.TakeCtx(r.Context(), id, func(context.Context) (string, error) {
			return "name of " + id, nil // ask the database
		})
		if err != nil {
			http.Error(w, "try again", http.StatusBadGateway)
			return
		}
		fmt.Fprintln(w, name)
	})
	http.Handle("/cache/", stats.Handler()) // for operators only
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}

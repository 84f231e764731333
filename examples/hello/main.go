// Hello is the smallest service with a cache: one table, one cache, one page.
//
//	go run ./hello
//
// Then look at http://127.0.0.1:8080/users/1 and at http://127.0.0.1:8080/cache/.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

var errNotFound = errors.New("no such user")

// A database stands for a real one: it takes its time.
type database struct {
	mu    sync.Mutex
	names map[int]string
}

func (d *database) name(ctx context.Context, id int) (string, error) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	name, ok := d.names[id]
	if !ok {
		return "", errNotFound
	}
	return name, nil
}

func (d *database) rename(id int, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[id] = name
}

// newCache returns a cache of names. Nobody waits for a value that is there: it is loaded anew
// in the background after 80 % of its TTL, and stands in for ten minutes more if the database
// is down. "No such user" is kept for five seconds.
func newCache() *cache.Cache[int, string] {
	return cache.Must(cache.Options[int, string]{
		Name:    "users",
		Limit:   10_000,
		Expire:  time.Minute,
		Jitter:  0.05,
		Refresh: 0.8,
		Grace:   10 * time.Minute,
		Timeout: 2 * time.Second,
		Negative: func(err error) time.Duration {
			if errors.Is(err, errNotFound) {
				return 5 * time.Second
			}
			return 0
		},
	})
}

func routes(db *database, users *cache.Cache[int, string]) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			http.Error(w, "an id is a number", http.StatusBadRequest)
			return
		}
		name, err := users.TakeCtx(r.Context(), id, func(ctx context.Context) (string, error) { return db.name(ctx, id) })
		switch {
		case errors.Is(err, errNotFound):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(w, name)
		}
	})
	mux.HandleFunc("PUT /users/{id}/{name}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			http.Error(w, "an id is a number", http.StatusBadRequest)
			return
		}
		db.rename(id, r.PathValue("name"))
		users.Del(id) // after the database, so that no load brings back the old name
	})
	mux.Handle("/cache/", stats.Handler()) // for operators: in a real service behind their login
	return mux
}

func main() {
	db := &database{names: map[int]string{1: "Ann", 2: "Bob"}}
	users := newCache()
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: routes(db, users)}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background())
	}()
	fmt.Println("http://127.0.0.1:8080/users/1  http://127.0.0.1:8080/cache/")
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	if err := users.Close(context.Background()); err != nil { // waits for loads
		log.Fatal(err)
	}
}

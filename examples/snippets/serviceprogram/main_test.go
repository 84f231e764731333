// main.go
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/cache/codec"
	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	handler, end := newService(ctx, "pages.cache")
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: handler, ReadHeaderTimeout: time.Second}
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err) // the port is in use, for example
		}
	}()
	<-ctx.Done()
	stop()                                                                      // a second Ctrl-C ends the program at once
	ending, cancel := context.WithTimeout(context.Background(), 10*time.Second) // real time: of the program
	defer cancel()
	requests, cancel := context.WithTimeout(ending, 5*time.Second) // real time: of the program
	defer cancel()
	if err := errors.Join(server.Shutdown(requests), end(ending)); err != nil {
		log.Fatal(err)
	}
}

// newService returns a handler, and what to call when its server has ended. Saves end with ctx.
func newService(ctx context.Context, path string) (handler http.Handler, end func(context.Context) error) {
	pages := cache.Must(cache.Options[string, string]{
		Name: "pages", Schema: "pages v1",
		MaxWeight: 1 << 20, // bytes; so few for you to see evictions
		Weigh:     func(name, page string) uint32 { return uint32(len(name) + len(page) + 100) },
		Expire:    10 * time.Minute, Refresh: 0.8, Grace: time.Hour, Timeout: 2 * time.Second,
		OnRemove: func(e cache.Event[string, string]) {
			if e.Cause == cache.Evicted {
				log.Printf("evicted: %q, %d bytes", e.Key, len(e.Value))
			}
		},
	})
	encode, decode := codec.JSON[string, string]()
	if n, err := pages.RestoreFile(path, decode); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Printf("%d pages restored, and then: %v", n, err)
	}
	timers, err := timingwheel.NewTimers(100*time.Millisecond, 512)
	if err != nil {
		log.Fatal(err) // a wrong argument
	}
	timers.Every(time.Minute, func() {
		if err := pages.SaveFile(ctx, path, encode); err != nil {
			log.Print(err)
		}
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		page, err := pages.TakeCtx(r.Context(), name, func(ctx context.Context) (string, error) {
			err := timers.Sleep(ctx, 300*time.Millisecond) // rather ask a database or an API, with this ctx
			return fmt.Sprintf("page %s, made at %s\n%s\n", name, time.Now().Format(time.TimeOnly), strings.Repeat(".", 10_000)), err
		})
		if err != nil {
			http.Error(w, "try again", http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, page)
	})
	mux.Handle("/cache/", stats.Handler()) // for operators only
	return mux, func(ctx context.Context) error {
		return errors.Join(timers.Shutdown(ctx), pages.SaveFile(ctx, path, encode), pages.Close(ctx))
	}
}

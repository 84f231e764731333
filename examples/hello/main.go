// Command hello is a service with a cache in front of a slow database, under a load of its own.
//
//	go run -C examples ./hello                # and open http://127.0.0.1:8080/cache/
//	go run -C examples ./hello -outage 20s    # every other 20 s the database hangs
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to listen on; port 0 is any free one")
	outage := flag.Duration("outage", 0, "the database works for this `time`, hangs for it, and so on; 0: it never hangs")
	end := flag.Duration("for", 0, "end after this `time`; 0: when interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if *end > 0 {
		time.AfterFunc(*end, stop)
	}
	if err := run(ctx, *addr, newDatabase(time.Now(), *outage)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr string, find func(context.Context, string) (user, error)) error {
	users := cache.Must(cache.Options[string, user]{
		Name: "users", HotKeys: 10, Ages: true, WhatIf: true, // for the page
		Limit:    300,                    // of 1000 users: those rarely asked for make room
		Expire:   10 * time.Second,       // short, for you to see it; in a service rather a minute
		Jitter:   0.1,                    // users stored together do not expire together
		Refresh:  0.8,                    // from about 8 s on, a request has the user loaded anew in the background
		Grace:    time.Minute,            // an expired user is returned for so long if loads fail,
		Patience: 50 * time.Millisecond,  // or take longer than this
		Timeout:  500 * time.Millisecond, // after this a load has failed
		Negative: func(err error) time.Duration {
			if errors.Is(err, errNoUser) {
				return 5 * time.Second // a new user may not be found for so long
			}
			return 0 // other errors are not kept: the next caller tries again
		},
	})
	mux := http.NewServeMux()
	mux.Handle("GET /cache/", stats.Handler())
	mux.HandleFunc("GET /user/{id}", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		// Requests for one user share a load. Its ctx goes on for the others when one ends.
		u, err := users.TakeCtx(r.Context(), id, func(ctx context.Context) (user, error) { return find(ctx, id) })
		switch {
		case err == nil:
			json.NewEncoder(w).Encode(u)
		case errors.Is(err, errNoUser):
			http.NotFound(w, r)
		default:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%w (to choose another address: -addr 127.0.0.1:8081)", err)
	}
	addr = strings.Replace(listener.Addr().String(), "[::]", "localhost", 1) // with -addr :8080
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go server.Serve(listener) // until Shutdown
	fmt.Printf("http://%s/cache/ shows the cache, http://%s/user/1 is a user. Ctrl-C ends it.\n", addr, addr)
	popular := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 2, 10, 999) // some users are, most are not
	for n, before := 0, users.Stats(); ctx.Err() == nil; time.Sleep(4 * time.Millisecond) {
		request := httptest.NewRequestWithContext(ctx, "GET", fmt.Sprint("/user/", 1+popular.Uint64()), nil)
		go mux.ServeHTTP(httptest.NewRecorder(), request)
		if n++; n%500 == 0 {
			now := users.Stats()
			did := now.Minus(before)
			fmt.Printf("%d requests, hit ratio %.1f %%, %d entries, %d hits in grace, %d loads timed out\n",
				did.Gets(), 100*did.HitRatio(), did.Entries, did.HitsInGrace, did.Loads.TimedOut.Count())
			before = now
		}
	}
	ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(server.Shutdown(ending), users.Close(ending))
}

type user struct{ ID, Name string }

var errNoUser = errors.New("no such user")

// newDatabase returns a query that takes some milliseconds, or hangs in an outage.
func newDatabase(began time.Time, outage time.Duration) func(context.Context, string) (user, error) {
	return func(ctx context.Context, id string) (user, error) {
		delay := 5*time.Millisecond + rand.N(10*time.Millisecond)
		if outage > 0 && time.Since(began)/outage%2 == 1 {
			delay = time.Hour
		}
		select {
		case <-ctx.Done():
			return user{}, context.Cause(ctx)
		case <-time.After(delay):
		}
		if strings.HasSuffix(id, "00") {
			return user{}, errNoUser
		}
		return user{id, "User " + id}, nil
	}
}

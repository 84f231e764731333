// Command near measures the near cache over a Redis on this machine: a local hit, compared
// with the client-side caching of other clients; many misses of one key at once; how stale
// reads are after an acknowledged write; and what watchers cost Redis.
//
//	go run . -o results.md
//	go run . staleness       # one of hits, misses, staleness, watchers
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/pinwheel-cache/pinwheel/near/redis/redistest"
)

// A scale is how much is measured.
type scale struct {
	hitTime  time.Duration // for each kind of hit
	rounds   int           // of misses at once, and of writes
	watchers []int
	writes   int // for each number of watchers
}

var (
	full  = scale{hitTime: time.Second, rounds: 2000, watchers: []int{3, 50, 200}, writes: 20_000}
	short = scale{hitTime: time.Millisecond, rounds: 20, watchers: []int{1, 2}, writes: 200}
)

func main() {
	quick := flag.Bool("short", false, "a moment of each, to see that it runs")
	file := flag.String("o", "", "write the tables to this file too")
	flag.Parse()
	if err := run(*quick, *file, flag.Args()...); err != nil {
		fmt.Fprintln(os.Stderr, "near:", err)
		os.Exit(1)
	}
}

// measures are the measurements in the order of their tables.
var measures = []struct {
	name    string
	measure func(io.Writer, *redistest.Server, scale) error
}{{"hits", hits}, {"misses", misses}, {"staleness", staleness}, {"watchers", watchers}}

// run makes the measurements that are named, or all.
func run(quick bool, file string, names ...string) error {
	s, out := full, io.Writer(os.Stdout)
	if quick {
		s = short
	}
	if file != "" {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer f.Close()
		out = io.MultiWriter(out, f)
	}
	fmt.Fprintf(out, "%s, %s/%s, %d processors, Redis on loopback\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	for _, m := range measures {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		server, err := redistest.Start()
		if err != nil {
			return err
		}
		err = m.measure(out, server, s)
		server.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// A user is a cached value.
type user struct {
	ID    int
	Name  string
	Email string
	Tags  []string
}

func newUser(id int) *user {
	return &user{id, "Ann Example", "ann@example.com", []string{"admin", "editor"}}
}

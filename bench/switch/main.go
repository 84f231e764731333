// Command switch runs a go-zero service with go-zero's collection.Cache and the same
// service with that import changed, under the same load, and compares their answers and
// what they cost: see README.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// settings are how much is measured.
type settings struct {
	rounds    int
	perSecond float64       // requests, on average
	round     time.Duration // load in each round; a bit over a minute logs one line of statistics
	driven    int           // operations without HTTP in each round
	sessions  keepAlive
}

// A keepAlive is the part with long sessions: sessions of each TTL get a heartbeat every beat
// for a while, and are read every look.
type keepAlive struct {
	each       int
	beat, look time.Duration
	ttls       []time.Duration
}

var full = settings{
	rounds:    5,
	perSecond: 2000,
	round:     62 * time.Second,
	driven:    3_000_000,
	sessions:  keepAlive{150, 20 * time.Second, 10 * time.Second, []time.Duration{4 * time.Minute, 6 * time.Minute, 10 * time.Minute}},
}

var short = settings{
	rounds:    1,
	perSecond: 300,
	round:     2 * time.Second,
	driven:    20_000,
	sessions:  keepAlive{5, 300 * time.Millisecond, 200 * time.Millisecond, []time.Duration{2 * time.Second}},
}

func main() {
	quick := flag.Bool("short", false, "only see whether everything works, in a few seconds")
	out := flag.String("o", "", "write the tables to `file`, and not to stdout")
	flag.Parse()
	s := full
	if *quick {
		s = short
	}
	if err := run(s, *out); err != nil {
		fmt.Fprintln(os.Stderr, "switch:", err)
		os.Exit(1)
	}
}

// run measures, and writes the tables to the file out, or to stdout if out is empty.
func run(s settings, out string) error {
	dir, err := os.MkdirTemp("", "switch")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m, err := measure(s, dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	m.write(&text)
	if out != "" {
		return os.WriteFile(out, []byte(text.String()), 0o644)
	}
	_, err = io.WriteString(os.Stdout, text.String())
	return err
}

// where describes the machine and the versions.
func where() string {
	return fmt.Sprintf("%s, %s, commit %s", time.Now().Format(time.DateOnly), results.ThisMachine(), results.Commit())
}

// Program service measures what services do with a cache, in processor time and by turns with
// other caches: the loads of requests, small caches, removals.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/cputime"
)

// A cell is one thing that a service does, as each cache does it.
type cell struct {
	name string
	by   []contender
}

// A contender makes what is measured: run does it n times. The first contender of a cell is
// pinwheel.
type contender struct {
	name string
	make func() (run func(n int), end func())
}

// A sample is what one operation took.
type sample struct{ ns, allocs float64 }

func main() {
	only := flag.String("cell", "", "a regular expression for the names of cells")
	rounds := flag.Int("rounds", 15, "how often each contender is measured")
	length := flag.Duration("time", 100*time.Millisecond, "the length of a measurement")
	procs := flag.Int("procs", 1, "GOMAXPROCS")
	flag.Parse()
	runtime.GOMAXPROCS(*procs)
	names := regexp.MustCompile(*only)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "cell\tcache\tns\tallocations\tof the first")
	for _, c := range cells {
		if names.MatchString(c.name) {
			c.measure(out, *rounds, *length)
			out.Flush()
		}
	}
}

// measure prints the lower quartile of each contender, in processor time: what disturbs a
// measurement makes it longer.
func (c cell) measure(out *tabwriter.Writer, rounds int, length time.Duration) {
	runs, samples, turns := make([]func(int), len(c.by)), make([][]sample, len(c.by)), make([]int, len(c.by))
	for i, by := range c.by {
		run, end := by.make()
		defer end()
		runs[i], turns[i] = run, times(run, length)
	}
	runtime.GC()
	for range rounds {
		for _, i := range rand.Perm(len(c.by)) {
			samples[i] = append(samples[i], measure(runs[i], turns[i]))
		}
	}
	var first float64
	for i, by := range c.by {
		slices.SortFunc(samples[i], func(a, b sample) int { return cmp.Compare(a.ns, b.ns) })
		low := samples[i][rounds/4]
		if i == 0 {
			first = low.ns
		}
		fmt.Fprintf(out, "%s\t%s\t%.1f\t%.1f\t%.2f\n", c.name, by.name, low.ns, low.allocs, low.ns/first)
	}
	debug.FreeOSMemory()
}

// times returns how often run is to run for a time.
func times(run func(n int), length time.Duration) int {
	for n := 1000; ; n *= 2 {
		began := time.Now()
		run(n)
		if took := time.Since(began); took > length/4 {
			return int(float64(n) * float64(length) / float64(took))
		}
	}
}

func measure(run func(n int), n int) sample {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used := cputime.Used()
	run(n)
	used = cputime.Used() - used
	runtime.ReadMemStats(&after)
	return sample{float64(used.Nanoseconds()) / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n)}
}

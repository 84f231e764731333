// Command lines simulates the cache and its rivals on more processors than there are to
// measure:
//
//	go run ./lines [-o results.json] [-seeds n]
//
// It simulates processors whose caches exchange lines, and on them pinwheel, otter and
// phuslu/lru, each as the sequence of lines that its operations read, write and lock. It
// prints how well that agrees with measurements on two processors, and then the throughput
// for up to 128. With -o it writes results for go run ./plot.
//
// Not in the model: instructions and their overlap, but for stores, which do not wait;
// goroutines that change processors; memory bandwidth; garbage collection; the scheduler's own
// locks.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// measured has the measurements on two processors.
var measured = filepath.Join("results", "2026-11-21", "throughput.md")

func main() {
	out := flag.String("o", "", "write the results into `file`")
	seeds := flag.Int("seeds", 3, "simulate every case so often, and take the mean")
	flag.Parse()
	if err := report(*out, *seeds); err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
		os.Exit(1)
	}
}

func report(out string, seeds int) error {
	rows, err := readMeasured(measured)
	if err != nil {
		return err
	}
	fmt.Println(validation(rows))
	r := results.Results{
		Machine: results.ThisMachine(), Commit: results.Commit(), Date: time.Now().Format(time.DateOnly),
		Command: fmt.Sprintf("go run ./lines -seeds %d", seeds),
	}
	for _, c := range contenders {
		r.Libraries = append(r.Libraries, c.name)
	}
	for _, l := range loads {
		fmt.Println(scaling(&r, l, seeds))
	}
	if out == "" {
		return nil
	}
	return r.Save(out)
}

// Command peers checks with package lincheck whether this module's cache and those of other
// libraries are linearizable: whether they behave as if their operations happened one after
// the other. It prints a table of the faults: see docs/linearizability.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"time"
)

// settings are the values of the flags.
type settings struct {
	length  time.Duration
	seed    uint64
	only    *regexp.Regexp
	verbose bool
	out     string
}

func main() {
	s := settings{only: regexp.MustCompile("")}
	flag.DurationVar(&s.length, "for", 2*time.Second, "how long to check each cache in each scenario")
	flag.Uint64Var(&s.seed, "seed", 0, "the seed of the operations; 0 for a new one")
	flag.Func("only", "check caches whose name matches `regexp`", func(expr string) (err error) {
		s.only, err = regexp.Compile(expr)
		return err
	})
	flag.BoolVar(&s.verbose, "v", false, "print the shortest history with each fault")
	flag.StringVar(&s.out, "o", "", "write the table to `file` as well")
	flag.Parse()
	if flag.NArg() > 0 || s.length <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	if err := s.run(); err != nil {
		fmt.Fprintln(os.Stderr, "lincheck:", err)
		os.Exit(1)
	}
}

// run checks all caches in a scenario before the next scenario, so that what a cache leaves
// running disturbs few others.
func (s settings) run() error {
	var all []result
	for _, sc := range scenarios {
		for _, c := range contenders {
			if !s.only.MatchString(c.name) {
				continue
			}
			until := time.Now().Add(s.length)
			r := sc.run(c, s.seed, func(int) bool { return time.Now().Before(until) })
			all = append(all, r)
			s.tell(r)
		}
	}
	if s.out == "" {
		return table(os.Stdout, s, all)
	}
	f, err := os.Create(s.out)
	if err != nil {
		return err
	}
	if err := table(io.MultiWriter(os.Stdout, f), s, all); err != nil {
		return err
	}
	return f.Close()
}

// tell prints a result.
func (s settings) tell(r result) {
	fmt.Fprintf(os.Stderr, "%-20s | %-17s | %s\n", r.contender, r.scenario, r)
	if !s.verbose || r.Survey == nil {
		return
	}
	for _, f := range r.Found {
		fmt.Fprintf(os.Stderr, "\n  %v, in %d of %d histories; the shortest:\n%v\n\n", f.Fault, f.Histories, r.Histories, f.Example)
	}
}

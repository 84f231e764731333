// Command bench compares pinwheel's cache with other libraries: see README.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// settings are what the flags say.
type settings struct {
	short       bool
	libs, cases *regexp.Regexp
	rounds      int
	time        time.Duration // of a sample
	args        []string      // the flags, for the processes that do the work
}

func main() {
	args := os.Args[1:]
	var err error
	if len(args) >= 3 && args[0] == childArg {
		err = child(args[1], args[2], parse(args[3:]))
	} else {
		err = run(parse(args))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parse ends the program if the flags are wrong.
func parse(args []string) settings {
	s := settings{args: args, libs: regexp.MustCompile(""), cases: regexp.MustCompile("")}
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.BoolVar(&s.short, "short", false, "only see whether everything works, with small sizes and one round")
	flags.TextVar(s.libs, "lib", s.libs, "measure libraries whose name matches `regexp`")
	flags.TextVar(s.cases, "case", s.cases, "measure cases whose name matches `regexp`")
	flags.IntVar(&s.rounds, "rounds", 6, "samples of each library in each case")
	flags.DurationVar(&s.time, "time", 120*time.Millisecond, "length of a sample")
	_ = flags.Parse(args) // it exits if there is an error
	if flags.NArg() > 0 || s.rounds < 1 || s.time <= 0 {
		flags.Usage()
		os.Exit(2)
	}
	if s.short {
		s.rounds, s.time = 1, 2*time.Millisecond
	}
	return s
}

// command returns what to type to run the program with arguments.
func command(args []string) string {
	c := "go run ."
	for _, arg := range args {
		if strings.ContainsAny(arg, " |$()[]*?^\\") {
			arg = "'" + arg + "'"
		}
		c += " " + arg
	}
	return c
}

// run checks the libraries, measures them, and writes the results.
func run(s settings) error {
	var names []string
	for _, l := range s.libraries() {
		names = append(names, l.Name)
		if err := libs.Check(l); err != nil {
			return err
		}
	}
	r := &results.Results{
		Machine:   results.ThisMachine(),
		Commit:    results.Commit(),
		Date:      time.Now().Format(time.DateOnly),
		Command:   command(s.args),
		Short:     s.short,
		Libraries: names,
	}
	failed := measureAll(s, r)
	return errors.Join(failed, r.Tables(os.Stdout))
}

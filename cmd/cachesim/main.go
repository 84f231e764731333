package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Main runs the program and returns its exit status: 1 if something went wrong, 2 if the
// flags are.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "cachesim: %v\n", err)
		return 2
	}
	r, err := s.study(stdin, stderr)
	if err == nil {
		err = s.write(r, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "cachesim: %v\n", err)
		return 1
	}
	return 0
}

// settings are the values of the flags.
type settings struct {
	files    []string
	reading  reading
	policies []string
	limits   []limit // nil: a grid
	sample   int
	keys     int
	rate     float64
	latency  time.Duration
	json     bool
}

func parseFlags(args []string, stderr io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("cachesim", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	format := f.String("format", "lines", "what the input is: `lines`, a key each, csv or json; a recording of a cache is known by itself, and so is gzip")
	expr := f.String("regexp", "", "a regular `expression` for lines of text: its first group, or the one named key, is the key; groups named time, size and ttl may be there too")
	separator := f.String("separator", ",", "between the columns of csv: a `character`, or tab or space")
	var names [fieldCount]string
	for i, what := range []string{"the key", "the time: Unix seconds, RFC 3339, or as nginx has it", "the size in bytes", "the TTL: seconds, or as in 10m"} {
		f.StringVar(&names[i], strings.TrimPrefix(fieldFlags[i], "-"), "", "`where` a line has "+what+": a column (number, or name in the first line), a path in JSON, or a group")
	}
	f.DurationVar(&s.reading.expire, "expire", 0, "the TTL of what has none of its own; it takes -time")
	policies := f.String("policies", everyPolicy, "what to try, of lru, adaptive and min; min is the optimum, which knows the future")
	limits := f.String("limits", "", "the limits to try: entries, parts of the keys or bytes, as in `1%,5%,1000,64MB`; without it, as many as make a curve")
	f.Float64Var(&s.rate, "rate", 0, "`gets` per second, to say what a point of hit ratio is worth; without it, that of the input if it has times")
	f.DurationVar(&s.latency, "latency", 0, "how long the database takes for a miss, for the same, as in `2ms`")
	f.IntVar(&s.sample, "sample", maxAccesses, "most `accesses` to keep; of an input that has more, a part of the keys is kept, and the error that makes stated")
	f.IntVar(&s.keys, "sample-keys", maxKeys, "most `keys` to keep, likewise")
	f.BoolVar(&s.json, "json", false, "print JSON instead of text")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(f, stderr)
		}
		return s, err
	}
	if s.files = f.Args(); len(s.files) == 0 {
		s.files = []string{"-"}
	}
	if s.reading.layout, err = newLayout(*format, *expr, *separator, names); err != nil {
		return s, err
	}
	if *limits != "" {
		if s.limits, err = parseLimits(*limits); err != nil {
			return s, err
		}
	}
	s.policies = strings.Split(*policies, ",")
	return s, s.check(*expr != "", names)
}

func newLayout(format, expr, separator string, names [fieldCount]string) (layout, error) {
	switch {
	case expr != "" && format != "lines":
		return nil, fmt.Errorf("both -regexp and -format %s are given: want one of them", format)
	case expr != "":
		return newExpression(expr, names)
	case format == "csv":
		return newTable(separator, names)
	case format == "json":
		return newObjects(names)
	case format != "lines":
		return nil, fmt.Errorf("-format is %q: want lines, csv or json, or -regexp", format)
	}
	for f, name := range names {
		if name != "" {
			return nil, fmt.Errorf("%s is %q, but with -format lines each line is a key: want -format csv or json, or -regexp", fieldFlags[f], name)
		}
	}
	return wholeLines{}, nil
}

// check returns an error for well-formed settings that make no sense.
func (s *settings) check(isExpression bool, names [fieldCount]string) error {
	for _, p := range s.policies {
		if _, ok := policies[p]; !ok && p != clairvoyant {
			return fmt.Errorf("-policies has %q: want lru, adaptive or min", p)
		}
	}
	switch {
	case s.sample < 1000:
		return fmt.Errorf("-sample is %d: want at least 1000 accesses", s.sample)
	case s.keys < 100:
		return fmt.Errorf("-sample-keys is %d: want at least 100 keys", s.keys)
	case s.rate < 0:
		return fmt.Errorf("-rate is %v: want gets per second", s.rate)
	case s.latency < 0:
		return fmt.Errorf("-latency is %v: want a positive time", s.latency)
	case s.reading.expire < 0:
		return fmt.Errorf("-expire is %v: want a positive time", s.reading.expire)
	case s.reading.expire > 0 && names[timeField] == "" && !isExpression:
		return fmt.Errorf("-expire is %v without -time: want the field of a line that has its time", s.reading.expire)
	}
	return nil
}

func usage(f *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, `Usage: cachesim [flags] [file ...]

Cachesim reads what a service was asked for, and says what a cache of which limit would
have answered. Without a file it reads standard input.

  cachesim keys.txt
  cachesim -regexp '"GET (\S+)' -rate 2000 -latency 3ms access.log.*.gz
  cachesim -format csv -key user -time at -size bytes -limits 1%,5%,64MB log.csv

`)
	f.SetOutput(w)
	f.PrintDefaults()
}

// study reads the input and tries the policies on it.
func (s *settings) study(stdin io.Reader, stderr io.Writer) (*report, error) {
	bar := newProgress(stderr, "reading", sizeOf(s.files))
	in := &input{reading: s.reading, trace: newTrace(s.sample, s.keys), tick: bar.add}
	err := in.readFiles(s.files, stdin)
	bar.stop()
	if err != nil {
		return nil, err
	}
	r := &report{Title: strings.Join(s.files, ", "), Input: summarize(in.trace), Lines: in.lines, Skipped: in.skipped, FirstSkipped: in.firstSkipped}
	limits := resolved(s.limits, r.Input.Keys)
	if s.limits == nil {
		limits = grid(r.Input.Keys, leastOf(in.trace))
	}
	l := newLab(in.trace)
	bar = newProgress(stderr, "simulating", l.work(len(limits)*len(s.policies)+1))
	defer func() { bar.stop() }()
	l.ticker = bar.add
	if r.Runs, err = l.try(s.policies, limits); err != nil {
		return nil, err
	}
	if r.Ceiling, err = l.run("lru", limit{}); err != nil {
		return nil, err
	}
	if l.ttls {
		without, err := l.withoutTTLs().run("lru", limit{})
		if err != nil {
			return nil, err
		}
		r.CeilingWithoutTTL = &without
	}
	if in.recorded != nil {
		r.Input.Seconds = in.recorded.end.Duration.Seconds()
		if r.Recording, err = l.check(in.recorded); err != nil {
			return nil, err
		}
	}
	r.Advice, err = l.advise(r.Runs, r.Ceiling, in, s.limits == nil)
	r.Worth = worthOfPoint(s.rate, s.latency, r.Input)
	return r, err
}

// leastOf returns the least limit that a sample can estimate: scaled to a part of the
// sample, it still has a few entries.
func leastOf(t *trace) uint64 {
	if !t.sampled() {
		return 1
	}
	return uint64(256 / t.rate())
}

// write writes the report in the formats that the flags select.
func (s *settings) write(r *report, stdout io.Writer) error {
	if s.json {
		e := json.NewEncoder(stdout)
		e.SetIndent("", " ")
		return e.Encode(r)
	}
	_, err := io.WriteString(stdout, r.text())
	return err
}

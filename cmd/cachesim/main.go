package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Main runs the program and returns its exit status: 1 after an error, 2 if the flags are
// wrong.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "cachesim: %v\n", err)
		return 2
	}
	r, err := s.study(stdin)
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
	parser   parser
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
	format := f.String("format", "lines", "the `name` of what the input is: lines, a key each, csv or json; a recording of a cache is known by itself, and so is gzip")
	expr := f.String("regexp", "", "a regular `expression` for lines of text: its first group, or the one named key, is the key; groups named time, size and ttl may be there too")
	separator := f.String("separator", ",", "between the columns of csv: a `character`, or tab or space")
	var names [fieldCount]string
	for i, what := range []string{"the key", "the time: Unix seconds, RFC 3339, or as nginx has it", "the size in bytes", "the TTL: seconds, or as in 10m"} {
		f.StringVar(&names[i], strings.TrimPrefix(fieldFlags[i], "-"), "", "`where` a line has "+what+": a column (number, or name in the first line), a path in JSON, or a group")
	}
	const aTime = "a time with its unit, as in 2ms or 10m"
	parsed(f, "expire", "the TTL of what has none of its own, a `duration` as in 10m; it takes -time", aTime, &s.parser.expire, time.ParseDuration)
	policies := f.String("policies", everyPolicy, "what to try, of lru, adaptive and min; min is the optimum, which knows the future")
	limits := f.String("limits", "", "a `list` of limits to try: entries, parts of the keys or bytes, as in 1%,5%,1000,64MB; without it, as many as make a curve")
	parsed(f, "rate", "`gets` per second, to say what a point of hit ratio is worth; without it, that of the input if it has times", "a number", &s.rate, parseFloat)
	parsed(f, "latency", "how long the database takes for a miss, for the same: a `duration` as in 2ms", aTime, &s.latency, time.ParseDuration)
	s.sample, s.keys = maxAccesses, maxKeys
	parsed(f, "sample", fmt.Sprintf("most `accesses` to keep; of an input that has more, a part of the keys is kept, and the error that makes stated (default %d)", maxAccesses), "a whole number", &s.sample, strconv.Atoi)
	parsed(f, "sample-keys", fmt.Sprintf("most `keys` to keep, likewise (default %d)", maxKeys), "a whole number", &s.keys, strconv.Atoi)
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
	if s.parser.layout, err = newLayout(*format, *expr, *separator, names); err != nil {
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

// parsed defines a flag whose error says what it wants, where package flag has "parse error".
func parsed[T any](f *flag.FlagSet, name, usage, want string, to *T, parse func(string) (T, error)) {
	f.Func(name, usage, func(text string) error {
		v, err := parse(text)
		if err != nil {
			return errors.New("want " + want)
		}
		*to = v
		return nil
	})
}

func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

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
	case s.parser.expire < 0:
		return fmt.Errorf("-expire is %v: want a positive time", s.parser.expire)
	case s.parser.expire > 0 && names[timeField] == "" && !isExpression:
		return fmt.Errorf("-expire is %v without -time: want the field of a line that has its time", s.parser.expire)
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
func (s *settings) study(stdin io.Reader) (*report, error) {
	in := &input{parser: s.parser, trace: newTrace(s.sample, s.keys)}
	err := in.readFiles(s.files, stdin)
	if err != nil {
		return nil, err
	}
	r := &report{Title: strings.Join(s.files, ", "), Input: summarize(in.trace), Lines: in.lines, Skipped: in.skipped, FirstSkipped: in.firstSkipped}
	limits := resolved(s.limits, r.Input.Keys)
	if i := slices.IndexFunc(limits, limit.bytes); i >= 0 && r.Input.Bytes == 0 {
		return nil, fmt.Errorf("-limits has %s, and nothing in the input has a size: want -size", byteSize(limits[i].n))
	}
	l := newLab(in.trace)
	if s.limits == nil {
		limits = l.grid(r.Input, false)
	}
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
	r.Worth = worthOfPoint(s.rate, s.latency, r.Input)
	return r, s.advise(l, r, in, limits)
}

// advise adds the advice: for entries, and for bytes if sizes are known; or for the units that
// -limits has.
func (s *settings) advise(l *lab, r *report, in *input, limits []limit) (err error) {
	if r.Advice.Refused = refusals(r.Ceiling, in); r.Advice.Refused != nil {
		return nil
	}
	inBytes := slices.ContainsFunc(limits, limit.bytes) || s.limits == nil && r.Input.Bytes > 0
	inEntries := !slices.ContainsFunc(limits, limit.bytes) || !limits[0].inBytes
	if r.Advice, err = l.advise(r, s.policies, !inEntries, s.limits == nil); err != nil || !inEntries || !inBytes {
		return err
	}
	also, err := l.advise(r, s.policies, true, s.limits == nil)
	r.AdviceInBytes = &also
	return err
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

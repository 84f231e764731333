package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// A figure is the result of a library in a case, in nanoseconds per operation.
type figure struct{ library, name string }

// readMeasured reads the first table of a document of results: uint64 keys, 100,000 entries.
func readMeasured(file string) (map[figure]float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	found := make(map[figure]float64)
	var libraries []string
	for row := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(row, "| \n"), "|")
		switch {
		case strings.HasPrefix(row, "| ns/op"):
			if libraries != nil {
				return found, nil
			}
			libraries = cells
		case libraries != nil && strings.HasPrefix(row, "| "):
			for i, cell := range cells[1:] {
				number, _, _ := strings.Cut(strings.TrimSpace(cell), " ")
				if ns, err := strconv.ParseFloat(number, 64); err == nil {
					found[figure{strings.TrimSpace(libraries[i+1]), strings.TrimSpace(cells[0])}] = ns
				}
			}
		}
	}
	return nil, fmt.Errorf("%s: want two tables or more that begin with ns/op", file)
}

// settings are the settings that two processors can measure.
var settings = []struct {
	name            string
	procs, perGroup int
}{{"1 thread", 1, 1}, {"2 threads, near", 2, 2}, {"2 threads, far", 2, 1}}

// A comparison is a figure simulated and measured.
type comparison struct {
	figure
	procs               int
	simulated, measured float64
}

// wrong is the error of a simulation: 0.1 means 10 % too much or too little.
func (c comparison) wrong() float64 { return math.Abs(math.Log(c.simulated / c.measured)) }

// compare simulates everything measured.
func compare(measured map[figure]float64) []comparison {
	var all []comparison
	var runs []run
	for _, l := range loads {
		for _, s := range settings {
			for _, c := range contenders {
				f := figure{c.name, l.name + "/" + s.name}
				if ns, ok := measured[f]; ok {
					all = append(all, comparison{figure: f, procs: s.procs, measured: ns})
					runs = append(runs, run{c, l, s.procs, s.perGroup, 1})
				}
			}
		}
	}
	for i, ns := range simulateAll(runs) {
		all[i].simulated = ns
	}
	return all
}

// validation returns a table of simulated and measured figures with the errors.
func validation(measured map[figure]float64) string {
	var b strings.Builder
	all := compare(measured)
	b.WriteString("| ns/op, simulated / measured")
	for _, c := range contenders {
		b.WriteString(" | " + c.name)
	}
	b.WriteString(" |\n|---|" + strings.Repeat("---:|", len(contenders)))
	name := ""
	for _, c := range all {
		if c.name != name {
			name = c.name
			b.WriteString("\n| " + name + " |")
		}
		fmt.Fprintf(&b, " %.1f / %.1f |", c.simulated, c.measured)
	}
	two := slices.DeleteFunc(all, func(c comparison) bool { return c.procs < 2 })
	slices.SortFunc(two, func(a, b comparison) int { return cmp.Compare(a.wrong(), b.wrong()) })
	worst := two[len(two)-1]
	fmt.Fprintf(&b, "\n\nTwo threads: median error %.0f %%, worst %.0f %% (%s, %s).\n",
		100*two[len(two)/2].wrong(), 100*worst.wrong(), worst.library, worst.name)
	return b.String()
}

// The processors of the tables. Groups of eight share a cache.
var processors = []int{1, 2, 8, 16, 32, 64, 128}

const near = 8

// scaling returns a table of the throughput under a load, and adds it to the results.
func scaling(r *results.Results, l load, seeds int) string {
	var runs []run
	for _, procs := range processors {
		for _, c := range contenders {
			for seed := range seeds {
				runs = append(runs, run{c, l, procs, near, uint64(seed) + 1})
			}
		}
	}
	ns := simulateAll(runs)
	var b strings.Builder
	fmt.Fprintf(&b, "%s, million operations per second", l.name)
	for i := 0; i < len(ns); i += seeds {
		procs := runs[i].procs
		if i%(seeds*len(contenders)) == 0 {
			fmt.Fprintf(&b, "\n%3d", procs)
		}
		r.Add(fmt.Sprintf("lines/%s/%d", l.name, procs), runs[i].name(), results.NsPerOp, ns[i:i+seeds]...)
		fmt.Fprintf(&b, "  %s %6.1f", runs[i].name(), 1000/mean(ns[i:i+seeds]))
	}
	return b.String()
}

func (r run) name() string { return r.contender.name }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

package main

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// shown is the group of cases that is drawn.
const shown = "uint64/100k/ttl/"

// throughput returns a sheet for each number of threads.
func throughput(r *results.Results) []sheet {
	var sheets []sheet
	for _, threads := range []string{"1 thread", "2 threads", "16 goroutines"} {
		s := sheet{
			file:      "throughput-" + strings.ReplaceAll(threads, " ", "-") + ".svg",
			title:     "Million operations per second, " + threads,
			note:      "100,000 entries with a TTL of an hour, uint64 to uint64, keys by a Zipf distribution over 200,000; longer is better. Light: a map without a limit.",
			rowHeight: 6 * vg.Centimeter,
		}
		for _, op := range []string{"reads100", "reads95", "reads75", "reads50", "reads0", "hot"} {
			if p := throughputPanel(r, shown+op+"/"+threads, op); p != nil {
				s.panels = append(s.panels, p)
			}
		}
		sheets = append(sheets, s)
	}
	return sheets
}

// throughputPanel returns the panel of a case, or nil if there are no results.
func throughputPanel(r *results.Results, name, op string) *plot.Plot {
	distance := r.Apart(name)[0]
	var b bars
	for _, l := range r.Libraries {
		s := r.Find(name, l, results.NsPerOp)
		if s == nil || l == "null" {
			continue
		}
		perSecond := 1000 / results.Median(r.At(s, distance))
		b = append(b, bar{l, perSecond, fmt.Sprintf("%.1f", perSecond), colorOf(r, l)})
	}
	if b == nil {
		return nil
	}
	title := caption(op)
	if distance != "" {
		title += ", processors " + distance
	}
	return barPanel(title, b, true)
}

// caption returns what an operation is called in a title.
func caption(op string) string {
	switch op {
	case "hot":
		return "one hot key, reads"
	case "reads0":
		return "Sets only, evicting"
	}
	return strings.TrimPrefix(op, "reads") + " % reads"
}

// memory returns the sheet of what a million entries take.
func memory(r *results.Results) sheet {
	s := sheet{
		file:      "memory.svg",
		title:     "A million entries: memory, and a forced garbage collection",
		note:      "20-byte strings and what the pointers point to are the caller's and not counted; shorter is better. Light: a map without a limit.",
		rowHeight: 7.5 * vg.Centimeter,
	}
	for _, f := range []struct{ metric, title, format string }{
		{"B/entry", "bytes per entry", "%.0f"},
		{"GC ms", "garbage collection, ms", "%.1f"},
	} {
		for _, keys := range []struct{ name, title string }{{"memory/uint64", "uint64 to uint64"}, {"memory/string", "string to pointer"}} {
			var b bars
			for _, l := range r.Libraries {
				if m := r.Find(keys.name, l, f.metric); m != nil && l != "null" {
					value := max(results.Median(m.Values), 0)
					b = append(b, bar{l, value, fmt.Sprintf(f.format, value), colorOf(r, l)})
				}
			}
			if b != nil {
				s.panels = append(s.panels, barPanel(f.title+", "+keys.title, b, false))
			}
		}
	}
	return s
}

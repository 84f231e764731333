package main

import (
	"fmt"
	"log"
	"regexp"
	"slices"
	"strings"
)

// A cell has the results for a trace and a capacity.
type cell struct {
	trace    string
	capacity capacity
	names    []string // of the caches; MIN last, except with sizes
	ratios   []float64
	bytes    []float64 // likewise, byte hit ratios, if there are sizes
}

// replayAll replays a trace through all contenders that match, for all capacities.
func replayAll(t trace, match *regexp.Regexp, seeds int) (cells []cell) {
	for _, size := range t.capacities {
		c := cell{trace: t.name, capacity: size}
		for _, who := range contenders {
			if match.MatchString(who.name) && (who.weighs || t.sizes == nil) {
				hits, bytes := median(t, who, size, seeds)
				c.add(who.name, hits, bytes)
			}
		}
		if t.sizes == nil {
			optimum := percent(minHits(t.keys, size.entries), len(t.keys))
			c.add("MIN", optimum, optimum)
		}
		log.Println(t.name, size.name, c.names, c.ratios, c.bytes)
		cells = append(cells, c)
	}
	return cells
}

func (c *cell) add(name string, ratio, bytes float64) {
	c.names, c.ratios, c.bytes = append(c.names, name), append(c.ratios, ratio), append(c.bytes, bytes)
}

// median returns the median hit ratio and byte hit ratio of several replays, as caches hash
// with random seeds.
func median(t trace, who contender, room capacity, seeds int) (hits, bytes float64) {
	var ofGets, ofBytes []float64
	for range seeds {
		var gets, inHits count
		access, end := who.open(room)
		for i, key := range t.keys {
			size := t.size(i)
			gets.add(size)
			if access(key, size) {
				inHits.add(size)
			}
		}
		end()
		ofGets = append(ofGets, percent(inHits.number, gets.number))
		ofBytes = append(ofBytes, percent(inHits.bytes, gets.bytes))
	}
	slices.Sort(ofGets)
	slices.Sort(ofBytes)
	return ofGets[len(ofGets)/2], ofBytes[len(ofBytes)/2]
}

// A count is a number of gets, and the bytes of their values.
type count struct{ number, bytes int }

func (c *count) add(size uint32) {
	c.number++
	c.bytes += int(size)
}

// tableOfSizes returns two tables of cells with sizes, one of hits and one of bytes.
func tableOfSizes(cells []cell) string {
	return "\nHits, with sizes and a limit in bytes:\n\n" + table(cells, hits, false) +
		"\nBytes in hits:\n\n" + table(cells, func(c cell) []float64 { return c.bytes }, false)
}

func hits(c cell) []float64 { return c.ratios }

// table returns ratios of cells in Markdown, with the best cache of each in bold, and the means: of
// the ratios or, if the last are of MIN, of the shares of that.
func table(cells []cell, of func(cell) []float64, withMIN bool) string {
	var b strings.Builder
	head(&b, cells[0].names)
	what, means := "mean", make([]float64, len(cells[0].names))
	for _, c := range cells {
		ratios, whole := of(c), 100.0
		caches := ratios
		if last := len(ratios) - 1; withMIN {
			what, whole, caches = "mean share of MIN", ratios[last], ratios[:last]
		}
		c.write(&b, ratios, slices.Max(caches))
		for i, ratio := range ratios {
			means[i] += 100 * ratio / whole / float64(len(cells))
		}
	}
	foot(&b, what, means)
	return b.String()
}

func head(b *strings.Builder, names []string) {
	fmt.Fprintf(b, "| trace | capacity | %s |\n|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---:|", len(names)))
}

// write writes a row of ratios, with the best in bold.
func (c cell) write(b *strings.Builder, ratios []float64, best float64) {
	fmt.Fprintf(b, "| %s | %s |", c.trace, c.capacity.name)
	for _, ratio := range ratios {
		if ratio == best {
			fmt.Fprintf(b, " **%.2f** |", ratio)
		} else {
			fmt.Fprintf(b, " %.2f |", ratio)
		}
	}
	b.WriteString("\n")
}

func foot(b *strings.Builder, what string, means []float64) {
	fmt.Fprintf(b, "| %s | |", what)
	for _, mean := range means {
		fmt.Fprintf(b, " %.2f |", mean)
	}
	b.WriteString("\n")
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

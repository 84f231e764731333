package main

import (
	"fmt"
	"log"
	"regexp"
	"slices"
	"strings"
)

// A cell is what came out for a trace and a capacity.
type cell struct {
	trace    string
	capacity capacity
	names    []string  // of the caches, MIN last
	ratios   []float64 // in percent
}

// replayAll replays a trace through all contenders that match, for all capacities.
func replayAll(t trace, match *regexp.Regexp, seeds int) (cells []cell) {
	for _, size := range t.capacities {
		c := cell{trace: t.name, capacity: size}
		for _, who := range contenders {
			if match.MatchString(who.name) {
				c.add(who.name, median(t, who, size.entries, seeds))
			}
		}
		c.add("MIN", percent(minHits(t.keys, size.entries), len(t.keys)))
		log.Println(t.name, size.name, c.names, c.ratios)
		cells = append(cells, c)
	}
	return cells
}

func (c *cell) add(name string, ratio float64) {
	c.names, c.ratios = append(c.names, name), append(c.ratios, ratio)
}

// median returns that of the hit ratios of so many replays: caches hash with seeds.
func median(t trace, who contender, entries, seeds int) float64 {
	var ratios []float64
	for range seeds {
		access, end := who.open(entries)
		hits := 0
		for _, key := range t.keys {
			if access(key) {
				hits++
			}
		}
		end()
		ratios = append(ratios, percent(hits, len(t.keys)))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

// table returns the cells in Markdown, with the best cache of each in bold, and the
// mean share of MIN.
func table(cells []cell) string {
	names := cells[0].names
	var b strings.Builder
	fmt.Fprintf(&b, "| trace | capacity | %s |\n|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---:|", len(names)))
	shares := make([]float64, len(names))
	for _, c := range cells {
		best := slices.Max(c.ratios[:len(c.ratios)-1])
		optimum := c.ratios[len(c.ratios)-1]
		fmt.Fprintf(&b, "| %s | %s |", c.trace, c.capacity.name)
		for i, ratio := range c.ratios {
			shares[i] += 100 * ratio / optimum / float64(len(cells))
			if ratio == best {
				fmt.Fprintf(&b, " **%.2f** |", ratio)
			} else {
				fmt.Fprintf(&b, " %.2f |", ratio)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("| mean share of MIN | |")
	for _, share := range shares {
		fmt.Fprintf(&b, " %.1f |", share)
	}
	return b.String() + "\n"
}

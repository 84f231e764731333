package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// write writes the tables as Markdown.
func (m *measured) write(w io.Writer) {
	fmt.Fprintf(w, "%s. %d rounds of %v, with the sides by turns.\n\n", where(), m.rounds, m.round)
	fmt.Fprintf(w, "Over HTTP, %.0f requests a second:\n\n", m.perSecond)
	table(w, m.http, httpRows)
	fmt.Fprintf(w, "\nWithout HTTP, database and pauses, %d operations on the two caches:\n\n", m.driven)
	table(w, m.direct, directRows)
	fmt.Fprintf(w, "\nSessions with a heartbeat every %v for a while, %d of each TTL:\n\n", m.sessions.beat, m.sessions.each)
	m.writeKept(w)
	m.writeLog(w)
}

// A row is one figure of all samples.
type row struct {
	name   string
	format string
	of     func(s sample) float64
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

var httpRows = []row{
	{"CPU time, s", "%.2f", func(s sample) float64 { return s.cpu.Seconds() }},
	{"CPU time of a request, µs", "%.0f", func(s sample) float64 { return float64(s.cpu.Microseconds()) / float64(s.requests) }},
	{"memory at most, MB", "%.1f", func(s sample) float64 { return float64(s.memory) / 1e6 }},
	{"goroutines before the load", "%.0f", func(s sample) float64 { return float64(s.goroutines) }},
	{"allocations of a request", "%.1f", func(s sample) float64 { return s.allocs }},
	{"bytes of these", "%.0f", func(s sample) float64 { return s.bytes }},
	{"latency p50, ms", "%.2f", func(s sample) float64 { return milliseconds(s.percentile(0.5)) }},
	{"latency p99, ms", "%.2f", func(s sample) float64 { return milliseconds(s.percentile(0.99)) }},
	{"requests", "%.0f", func(s sample) float64 { return float64(s.requests) }},
	{"of these failed", "%.0f", func(s sample) float64 { return float64(s.failed) }},
	{"reads of items", "%.0f", func(s sample) float64 { return float64(s.reads) }},
	{"**of these stale**", "%.0f", func(s sample) float64 { return float64(s.stale) }},
	{"the oldest, ms after the write", "%.0f", func(s sample) float64 { return milliseconds(s.oldest) }},
	{"reads of sessions", "%.0f", func(s sample) float64 { return float64(s.looks) }},
	{"**gone before its time**", "%.0f", func(s sample) float64 { return float64(s.early) }},
	{"**there after its time**", "%.0f", func(s sample) float64 { return float64(s.late) }},
	{"lines in the log", "%.0f", func(s sample) float64 { return float64(s.log.all) }},
	{"of these of requests", "%.0f", func(s sample) float64 { return float64(s.log.access) }},
	{"of the statistics of caches", "%.0f", func(s sample) float64 { return float64(len(s.log.stat)) }},
	{"of errors, slow calls and the like", "%.0f", func(s sample) float64 { return float64(s.log.errors) }},
}

var directRows = []row{
	{"CPU time of an operation, ns", "%.0f", func(s sample) float64 { return float64(s.cpu.Nanoseconds()) }},
	{"time of an operation as seen from outside, ns", "%.0f", func(s sample) float64 { return float64(s.wall.Nanoseconds()) }},
	{"allocations", "%.2f", func(s sample) float64 { return s.allocs }},
	{"bytes of these", "%.0f", func(s sample) float64 { return s.bytes }},
	{"CPU time of a second afterwards, without any, ms", "%.2f", func(s sample) float64 { return milliseconds(s.idle) }},
}

// table writes for each side the median, least and greatest of the rounds, and by how much
// the second side differs from the first in the same round.
func table(w io.Writer, samples map[side][]sample, rows []row) {
	fmt.Fprintf(w, "| median (least – most) | %s | %s | difference in a round |\n|---|---|---|---|\n", before.name, after.name)
	for _, r := range rows {
		old, now := r.values(samples[before]), r.values(samples[after])
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", r.name, spread(old, r.format), spread(now, r.format), difference(old, now))
	}
}

func (r row) values(samples []sample) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = r.of(s)
	}
	return values
}

// spread returns the median, and the least and the greatest if they differ from it.
func spread(values []float64, format string) string {
	sorted := slices.Sorted(slices.Values(values))
	least, median, most := fmt.Sprintf(format, sorted[0]), fmt.Sprintf(format, sorted[len(sorted)/2]), fmt.Sprintf(format, sorted[len(sorted)-1])
	if least == most {
		return median
	}
	return fmt.Sprintf("%s (%s – %s)", median, least, most)
}

// difference returns the spread of the differences in percent, round by round, or nothing if
// there is no difference, or none in percent.
func difference(old, now []float64) string {
	percent := make([]float64, len(old))
	for i := range old {
		if old[i] == 0 {
			return ""
		}
		percent[i] = math.Round(100*(now[i]/old[i]-1)) + 0 // and not -0
	}
	if slices.Max(percent) == 0 && slices.Min(percent) == 0 {
		return ""
	}
	return spread(percent, "%+.0f %%")
}

// writeKept writes how many sessions of each TTL ended at a wrong time.
func (m *measured) writeKept(w io.Writer) {
	fmt.Fprint(w, "| ")
	for _, s := range kept {
		fmt.Fprintf(w, "| %s ", s.name)
	}
	fmt.Fprintln(w, "|\n|---|---|---|---|")
	for i, ttl := range m.sessions.ttls {
		m.keptRow(w, fmt.Sprintf("TTL %v: gone before their time", ttl), i, func(r *sessionRecord) bool { return r.early })
		m.keptRow(w, fmt.Sprintf("TTL %v: there after their time", ttl), i, func(r *sessionRecord) bool { return r.late })
	}
	fmt.Fprint(w, "| CPU time of it all, s ")
	for _, s := range kept {
		fmt.Fprintf(w, "| %.2f ", m.kept[s].cpu.Seconds())
	}
	fmt.Fprintln(w, "|")
}

// keptRow writes how many of the sessions with the i-th TTL fulfil a condition.
func (m *measured) keptRow(w io.Writer, name string, i int, is func(r *sessionRecord) bool) {
	fmt.Fprintf(w, "| %s ", name)
	n := m.sessions.each
	for _, s := range kept {
		count := 0
		for j := range n {
			if is(&m.kept[s].judge.sessions[i*n+j]) {
				count++
			}
		}
		fmt.Fprintf(w, "| %s of %d ", strconv.Itoa(count), n)
	}
	fmt.Fprintln(w, "|")
}

// writeLog writes the lines about caches in the logs, and what failed.
func (m *measured) writeLog(w io.Writer) {
	fmt.Fprintln(w, "\nThe last lines of caches in the log of a round, and of the sessions with a heartbeat:")
	for _, s := range compared {
		writeStat(w, s, last(m.http[s]))
	}
	for _, s := range kept {
		writeStat(w, s, m.kept[s])
	}
}

func last(samples []sample) sample { return samples[len(samples)-1] }

func writeStat(w io.Writer, s side, from sample) {
	fmt.Fprintf(w, "\n%s: %d lines", s.name, len(from.log.stat))
	if from.firstError != nil {
		fmt.Fprintf(w, "; a request failed: %v", from.firstError)
	}
	if from.log.other != "" {
		fmt.Fprintf(w, "; a line not of go-zero: %s", from.log.other)
	}
	fmt.Fprintln(w)
	if n := len(from.log.stat); n > 0 {
		fmt.Fprintf(w, "\n```\n")
		for _, line := range from.log.stat[max(0, n-2):] {
			fmt.Fprintln(w, line)
		}
		fmt.Fprintln(w, "```")
	}
}

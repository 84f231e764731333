package results

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Us is the library that the tables of ratios compare with Rival and with Limit.
const (
	Us    = "pinwheel"
	Rival = "otter"
	Limit = "limit" // the least that a cache can do
)

// Tables writes everything as tables in Markdown.
func (r *Results) Tables(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; commit %s, %s; `%s`\n", r.Machine, r.Commit, r.Date, r.Command)
	if r.Short {
		b.WriteString("\nA sanity run with small sizes: its figures say nothing.\n")
	}
	for _, name := range r.tables() {
		fmt.Fprintf(&b, "\n### %s\n\n", name)
		if slices.ContainsFunc(r.Series, func(s Series) bool { return s.Case == name }) {
			r.special(&b, name)
		} else {
			r.grid(&b, name)
		}
	}
	r.ratioTable(&b, Rival)
	r.ratioTable(&b, Limit)
	_, err := io.WriteString(w, b.String())
	return err
}

// tables returns the names of the tables: of special cases the name, of others
// what stands before the operation.
func (r *Results) tables() []string {
	return r.unique(func(Series) bool { return true }, func(s Series) string {
		if s.Metric == NsPerOp {
			return prefix(s.Case)
		}
		return s.Case
	})
}

// prefix returns what stands before operation and threads in the name of a case.
func prefix(name string) string {
	parts := strings.Split(name, "/")
	return strings.Join(parts[:len(parts)-2], "/")
}

// unique returns what of gives for all series in a table, each once.
func (r *Results) unique(in func(Series) bool, of func(Series) string) []string {
	var all []string
	for _, s := range r.Series {
		if name := of(s); in(s) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// grid writes nanoseconds per operation: a row for each case, a column for each
// library.
func (r *Results) grid(b *strings.Builder, table string) {
	in := func(s Series) bool { return s.Metric == NsPerOp && prefix(s.Case) == table }
	libraries := r.libraries(in)
	header(b, append([]string{"ns/op"}, libraries...))
	for _, name := range r.unique(in, func(s Series) string { return s.Case }) {
		for _, distance := range r.Apart(name) {
			row := []string{strings.TrimPrefix(label(name, distance), table+"/")}
			for _, l := range libraries {
				row = append(row, r.cell(name, l, NsPerOp, distance))
			}
			line(b, row)
		}
	}
}

// special writes the figures of a special case: a row for each library.
func (r *Results) special(b *strings.Builder, name string) {
	in := func(s Series) bool { return s.Case == name }
	metrics := r.unique(in, func(s Series) string { return s.Metric })
	titles := []string{"library"}
	for _, m := range metrics {
		titles = append(titles, strings.TrimSuffix(m, " ns"))
	}
	header(b, titles)
	for _, l := range r.libraries(in) {
		row := []string{l}
		for _, m := range metrics {
			row = append(row, r.cell(name, l, m, ""))
		}
		line(b, row)
	}
}

// libraries returns those of a table, in the order of all.
func (r *Results) libraries(in func(Series) bool) []string {
	have := r.unique(in, func(s Series) string { return s.Library })
	return slices.DeleteFunc(slices.Clone(r.Libraries), func(l string) bool { return !slices.Contains(have, l) })
}

// ratioTable compares Us with another library, round by round.
func (r *Results) ratioTable(b *strings.Builder, with string) {
	began := false
	for _, s := range r.Series {
		rival := r.Find(s.Case, with, s.Metric)
		if s.Library != Us || rival == nil {
			continue
		}
		for _, distance := range r.Apart(s.Case) {
			q := ratios(r.At(&s, distance), r.At(rival, distance))
			if len(q) == 0 {
				continue
			}
			if !began {
				fmt.Fprintf(b, "\n### %s ÷ %s\n\n", Us, with)
				header(b, []string{"case", "median of the rounds", "least", "most", "rounds"})
				began = true
			}
			name := label(s.Case, distance)
			if s.Metric != NsPerOp {
				name += ", " + s.Metric
			}
			line(b, []string{name, ratio(Median(q)), ratio(slices.Min(q)), ratio(slices.Max(q)), fmt.Sprint(len(q))})
		}
	}
}

// label adds the distance to the name of a case.
func label(name, distance string) string {
	if distance == "" {
		return name
	}
	return name + ", " + distance
}

// cell returns median and spread of a series.
func (r *Results) cell(name, library, metric, distance string) string {
	s := r.Find(name, library, metric)
	if s == nil {
		return "–"
	}
	values := r.At(s, distance)
	median := number(Median(values))
	if strings.HasSuffix(metric, " ns") {
		median = duration(Median(values))
	}
	if len(values) < 2 {
		return median
	}
	return fmt.Sprintf("%s ±%.0f %%", median, 100*Spread(values))
}

// duration writes nanoseconds, to three digits, with the unit that suits them.
func duration(ns float64) string {
	unit := time.Nanosecond
	for ns >= 1000*float64(unit) {
		unit *= 10
	}
	return time.Duration(ns).Round(unit).String()
}

// number writes three digits or all before the point.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.Abs(v) < 10:
		return fmt.Sprintf("%.2f", v)
	case math.Abs(v) < 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

func ratio(v float64) string { return fmt.Sprintf("%.2f", v) }

func header(b *strings.Builder, names []string) {
	line(b, names)
	b.WriteString("|---|" + strings.Repeat("---:|", len(names)-1) + "\n")
}

func line(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

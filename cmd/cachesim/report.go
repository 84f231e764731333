package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A report has all results of a study. Its JSON is for programs.
type report struct {
	Title   string `json:"-"`
	Runs    []run  `json:"runs"`
	Ceiling run    `json:"ceiling"` // with no limit

	CeilingWithoutTTL *run `json:"ceiling_without_ttl,omitempty"`

	Input        summary `json:"input"`
	Lines        uint64  `json:"lines,omitempty"`
	Skipped      uint64  `json:"lines_skipped,omitempty"`
	FirstSkipped string  `json:"first_skipped,omitempty"`

	Recording *check `json:"recording,omitempty"`

	Advice        advice  `json:"advice"`
	AdviceInBytes *advice `json:"advice_in_bytes,omitempty"` // besides that in entries
	Worth         worth   `json:"worth_of_a_point"`
}

// A worth is the value of one more point of hit ratio.
type worth struct {
	GetsPerSecond    float64 `json:"gets_per_second,omitempty"`
	QueriesPerSecond float64 `json:"queries_saved_per_second,omitempty"`
	BusyConnections  float64 `json:"busy_connections_saved,omitempty"` // by Little's law
	MeanSeconds      float64 `json:"mean_seconds_saved,omitempty"`     // of a get
}

func worthOfPoint(rate float64, latency time.Duration, in summary) worth {
	if rate == 0 && in.Seconds > 0 {
		rate = float64(in.Gets) / in.Seconds
	}
	return worth{
		GetsPerSecond:    rate,
		QueriesPerSecond: rate / 100,
		BusyConnections:  rate / 100 * latency.Seconds(),
		MeanSeconds:      latency.Seconds() / 100,
	}
}

// text returns the report for a terminal.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", strings.Join(r.about(), "\n"))
	r.writeTable(&b)
	if chart := terminalChart(r); chart != "" {
		b.WriteString("\n" + chart)
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Join(r.advised(), "\n"))
	return b.String()
}

// about returns sentences about the input.
func (r *report) about() []string {
	in := r.Input
	lines := []string{r.Title + ": " + thousands(in.Gets) + " gets of " + thousands(in.Keys) + " keys" + r.span() + "."}
	if r.Skipped > 0 {
		lines = append(lines, fmt.Sprintf("Skipped %s of %s lines. The first: %s.", thousands(r.Skipped), thousands(r.Lines), r.FirstSkipped))
	}
	if r.Recording != nil {
		lines = append(lines, r.Recording.text()...)
	}
	if in.SampleRate < 1 {
		lines = append(lines, fmt.Sprintf("A sample of %s keys, %s of all; figures are estimates, and after ± is what 19 in 20 are not further off.",
			thousands(in.SampleKeys), percent(in.SampleRate)))
	}
	lines = append(lines,
		fmt.Sprintf("Asked for once: %s of the keys, with %s of the gets.", percent(part(in.Once, in.Keys)), percent(part(in.Once, in.Gets))),
		fmt.Sprintf("Hot keys: half of the gets are for %s, nine tenths for %s.", counted(in.Half, "key"), counted(in.Most, "key")),
		fmt.Sprintf("Working set: at most %s at a time are between their first get and their last.", counted(in.Working, "key")),
		fmt.Sprintf("Ceiling: %s of the gets hit if there is no limit%s.", percent(r.Ceiling.ratio()), r.bytesOfCeiling()))
	if c := r.CeilingWithoutTTL; c != nil {
		lines = append(lines, fmt.Sprintf("TTLs: without them the ceiling is %s; they cost %s.", percent(c.ratio()), points100(c.ratio()-r.Ceiling.ratio())))
	}
	return lines
}

func (r *report) span() string {
	if r.Input.Seconds == 0 {
		return ""
	}
	return fmt.Sprintf(" in %v, %s a second", r.Input.duration().Round(time.Second), short(float64(r.Input.Gets)/r.Input.Seconds))
}

func (r *report) bytesOfCeiling() string {
	if r.Ceiling.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf(", %s of the bytes; all values together are %s", percent(r.Ceiling.byteRatio()), byteSize(r.Input.Bytes))
}

// A row is the runs with one limit, by policy.
type row struct {
	limit uint64
	unit  string
	runs  map[string]run
}

func (r *report) rows() (rows []row) {
	for _, one := range r.Runs {
		n := len(rows)
		if n == 0 || rows[n-1].limit != one.Limit || rows[n-1].unit != one.Unit {
			rows = append(rows, row{one.Limit, one.Unit, map[string]run{}})
			n++
		}
		rows[n-1].runs[one.Policy] = one
	}
	return rows
}

// policies returns the policies of the runs, in the order of the flag.
func (r *report) policies() (names []string) {
	for _, run := range r.Runs {
		if !slices.Contains(names, run.Policy) {
			names = append(names, run.Policy)
		}
	}
	return names
}

func (r *report) writeTable(b *strings.Builder) {
	names := r.policies()
	withBytes := r.Ceiling.Bytes > 0
	fmt.Fprintf(b, "%12s %8s", "limit", "of keys")
	for _, name := range names {
		fmt.Fprintf(b, " %14s", name)
		if withBytes {
			fmt.Fprintf(b, " %8s", "bytes")
		}
	}
	b.WriteByte('\n')
	for _, row := range r.rows() {
		fmt.Fprintf(b, "%12s %8s", row.name(), row.partOf(r.Input.Keys))
		for _, name := range names {
			run, ok := row.runs[name]
			fmt.Fprintf(b, " %14s", run.text(ok))
			if withBytes {
				fmt.Fprintf(b, " %8s", ratioText(run.byteRatio(), ok))
			}
		}
		b.WriteByte('\n')
	}
}

func (r row) name() string {
	if r.unit != "" {
		return byteSize(r.limit)
	}
	return thousands(r.limit)
}

func (r row) partOf(keys uint64) string {
	if r.unit != "" {
		return ""
	}
	return percent(part(r.limit, keys))
}

func (r run) text(ok bool) string {
	text := ratioText(r.ratio(), ok)
	if r.Error > 0 {
		text += fmt.Sprintf(" ± %.1f", 100*r.Error)
	}
	return text
}

func ratioText(ratio float64, ok bool) string {
	if !ok {
		return "-"
	}
	return percent(ratio)
}

// advised returns the advice as sentences.
func (r *report) advised() []string {
	lines := r.Advice.text()
	advised := r.Advice.Refused == nil
	if a := r.AdviceInBytes; a != nil {
		lines = append(lines, a.text()...)
		advised = advised || a.Refused == nil
	}
	if advised {
		lines = append(lines, r.Worth.text())
	}
	return lines
}

func (a advice) text() (lines []string) {
	if a.Refused != nil {
		for _, why := range a.Refused {
			lines = append(lines, "No advice: "+why+".")
		}
		return lines
	}
	of := row{limit: a.Limit, unit: a.Unit}
	lines = append(lines,
		fmt.Sprintf("Advice: a limit of %s with policy %s, for a hit ratio of %s.", of.name(), a.Policy, percent(a.HitRatio)),
		fmt.Sprintf("  It is the smallest within a point of the knee, which is at %s. Half of it gives %s, double %s.",
			row{limit: a.Knee, unit: a.Unit}.name(), percent(a.Half), percent(a.Double)),
		fmt.Sprintf("  %s", a.sure()))
	if a.Other != "" {
		lines = append(lines, fmt.Sprintf("  With policy %s it is %s.", a.Other, percent(a.OtherRatio)))
	}
	if a.WithoutTTL > 0 {
		lines = append(lines, fmt.Sprintf("  Without TTLs it is %s: there they cost %s.", percent(a.WithoutTTL), points100(a.WithoutTTL-a.HitRatio)))
	}
	return lines
}

func (a advice) sure() string {
	text := fmt.Sprintf("%d hash seeds gave from %s to %s", a.Seeds, percent(a.Lowest), percent(a.Highest))
	if a.Error > 0 {
		text += fmt.Sprintf("; the sample may be off by %s", points100(a.Error))
	}
	return text + "."
}

func (w worth) text() string {
	if w.GetsPerSecond == 0 && w.MeanSeconds == 0 {
		return "One point of hit ratio is a query less for every hundred gets; -rate and -latency say what that is worth."
	}
	text := "One point of hit ratio"
	if w.GetsPerSecond > 0 {
		text += fmt.Sprintf(" is %s queries a second less at %s gets a second", short(w.QueriesPerSecond), short(w.GetsPerSecond))
	} else {
		text += " is a query less for every hundred gets"
	}
	if w.BusyConnections > 0 {
		text += fmt.Sprintf(", %.2g fewer connections busy", w.BusyConnections)
	}
	if w.MeanSeconds > 0 {
		text += fmt.Sprintf(", and %v off the mean get", time.Duration(w.MeanSeconds*1e9))
	}
	return text + "."
}

func percent(ratio float64) string { return fmt.Sprintf("%.1f %%", 100*ratio) }

// points100 returns a difference of ratios in percentage points.
func points100(difference float64) string { return fmt.Sprintf("%.1f points", 100*difference) }

// short returns v with three digits, or with all digits before the point.
func short(v float64) string {
	if v >= 999.5 {
		return thousands(uint64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func counted(n uint64, what string) string {
	if n != 1 {
		what += "s"
	}
	return thousands(n) + " " + what
}

// thousands returns n with commas.
func thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func byteSize(n uint64) string {
	v := float64(n)
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if v < 999.5 {
			return strconv.FormatFloat(v, 'g', 3, 64) + " " + unit
		}
		v /= 1000
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " TB"
}

package stats

import (
	_ "embed" // for page.html
	"html/template"
	"slices"
	"strconv"
	"time"
)

//go:embed page.html
var pageHTML string

func parsePage() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
}

// A page is what page.html shows.
type page struct {
	Dir    string // before each relative link; see linkDir
	Time   string
	Tables []table // never empty; only the first may be without rows
}

// A table shows all caches or all timing wheels.
type table struct {
	Title    string
	Kind     string // what a row is
	Headings []heading
	Rows     []row
}

// A heading is over neighbouring columns.
type heading struct {
	Title   string
	Columns []string // titles
}

// A row is one cache or timing wheel.
type row struct {
	Name  string
	Cells []cell
}

// A cell is one number of a row. On a narrow screen it stands below no heading,
// so it carries the title of its column, and the first cell of a group that of
// the group.
type cell struct {
	Group, Title, Text string
}

// A group is some neighbouring columns of a table that shows an S, a [Snapshot]
// or a [Wheel], in each row.
type group[S any] struct {
	title   string
	columns []column[S]
}

// A column shows one number of each S.
type column[S any] struct {
	title string
	text  func(S) string
}

// newPage returns a page with a table of caches and one of wheels. A table
// without rows is left out, for many programs have only caches or only wheels,
// unless it would be the only one: then it says that there is nothing.
func newPage(caches []look[Snapshot], wheels []look[Wheel], dir string, now time.Time) page {
	p := page{Dir: dir, Time: now.UTC().Format("2006-01-02 15:04:05 UTC")}
	if len(caches) > 0 || len(wheels) == 0 {
		groups := cacheGroups(slices.ContainsFunc(caches, weighted))
		p.Tables = append(p.Tables, newTable("Caches", "cache", groups, caches))
	}
	if len(wheels) > 0 {
		p.Tables = append(p.Tables, newTable("Timing wheels", "timing wheel", wheelGroups(), wheels))
	}
	return p
}

func newTable[S any](title, kind string, groups []group[S], looks []look[S]) table {
	t := table{Title: title, Kind: kind}
	for _, g := range groups {
		h := heading{Title: g.title}
		for _, c := range g.columns {
			h.Columns = append(h.Columns, c.title)
		}
		t.Headings = append(t.Headings, h)
	}
	for _, l := range looks {
		t.Rows = append(t.Rows, row{Name: l.name, Cells: cells(groups, l.stats)})
	}
	return t
}

func cells[S any](groups []group[S], stats S) []cell {
	var cells []cell
	for _, g := range groups {
		title := g.title
		for _, c := range g.columns {
			cells = append(cells, cell{Group: title, Title: c.title, Text: c.text(stats)})
			title = ""
		}
	}
	return cells
}

func weighted(c look[Snapshot]) bool {
	return c.stats.MaxWeight > 0
}

// cacheGroups returns the columns for caches, with one for the weight if any
// cache is weighted.
func cacheGroups(weighted bool) []group[Snapshot] {
	size := []column[Snapshot]{{"now", entries}}
	if weighted {
		size = append(size, column[Snapshot]{"weight", weight})
	}
	return []group[Snapshot]{
		{"gets", []column[Snapshot]{
			{"hit ratio", hitRatio},
			{"total", func(s Snapshot) string { return count(s.Gets()) }},
			{"hits", func(s Snapshot) string { return count(s.Hits) }},
			{"misses (expired)", misses},
		}},
		{"entries", append(size,
			column[Snapshot]{"set", func(s Snapshot) string { return count(s.Sets) }},
			column[Snapshot]{"evicted", func(s Snapshot) string { return count(s.Removals.Evicted) }},
			column[Snapshot]{"expired", func(s Snapshot) string { return count(s.Removals.Expired) }},
		)},
		{"loads", []column[Snapshot]{
			{"ok", func(s Snapshot) string { return count(s.Loads.OK.Count()) }},
			{"failed", func(s Snapshot) string { return count(s.Loads.Failed.Count()) }},
			{"joined", func(s Snapshot) string { return count(s.Loads.Waiters) }},
			{"p50", func(s Snapshot) string { return quantile(s.Loads.all(), 0.50) }},
			{"p99", func(s Snapshot) string { return quantile(s.Loads.all(), 0.99) }},
		}},
		{"callbacks", []column[Snapshot]{
			{"queued", func(s Snapshot) string { return integer(s.Callbacks.Queued) }},
			{"panics", func(s Snapshot) string { return count(s.Callbacks.Panics) }},
		}},
		{"expiry", []column[Snapshot]{
			{"pending", func(s Snapshot) string { return integer(s.Expiry.Pending) }},
			{"tombstones", func(s Snapshot) string { return integer(s.Expiry.Tombstones) }},
			{"late p99", func(s Snapshot) string { return quantile(s.Expiry.Lateness, 0.99) }},
		}},
	}
}

func wheelGroups() []group[Wheel] {
	return []group[Wheel]{
		{"timers", []column[Wheel]{
			{"pending", func(w Wheel) string { return integer(w.Pending) }},
			{"started", func(w Wheel) string { return count(w.Started) }},
			{"removed", func(w Wheel) string { return count(w.Removed) }},
			{"tombstones", func(w Wheel) string { return integer(w.Tombstones) }},
		}},
		{"callbacks", []column[Wheel]{
			{"backlog", func(w Wheel) string { return integer(w.Backlog) }},
			{"running", func(w Wheel) string { return integer(w.Running) }},
			{"fired", func(w Wheel) string { return count(w.Fired) }},
			{"panics", func(w Wheel) string { return count(w.Panics) }},
		}},
		{"lateness", []column[Wheel]{
			{"p50", func(w Wheel) string { return quantile(w.Lateness, 0.50) }},
			{"p99", func(w Wheel) string { return quantile(w.Lateness, 0.99) }},
		}},
	}
}

// none stands for a number that does not exist, such as the median of nothing.
const none = "–"

func hitRatio(s Snapshot) string {
	if s.Gets() == 0 {
		return none
	}
	return strconv.FormatFloat(100*s.HitRatio(), 'f', 1, 64) + " %"
}

func misses(s Snapshot) string {
	return count(s.Misses) + " (" + count(s.MissesExpired) + ")"
}

func entries(s Snapshot) string {
	if s.Limit == 0 {
		return integer(s.Entries)
	}
	return integer(s.Entries) + " / " + integer(s.Limit)
}

func weight(s Snapshot) string {
	if s.MaxWeight == 0 {
		return none
	}
	return count(s.Weight) + " / " + count(s.MaxWeight)
}

// quantile returns a quantile of h with three digits.
func quantile(h Histogram, q float64) string {
	if h.Count() == 0 {
		return none
	}
	d := h.Quantile(q)
	text := d.Round(threeDigits(d)).String()
	if d == lastBound {
		return "≥ " + text
	}
	return text
}

// threeDigits returns the unit to which d is rounded to keep three digits.
func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return unit
}

func integer(v int) string {
	if v < 0 {
		return "-" + count(uint64(-int64(v)))
	}
	return count(uint64(v))
}

// count returns v, up to a million exactly, with a comma before the last three
// digits, and beyond with four digits and a unit: a table of long numbers is hard
// to read, and who needs them all finds them in the JSON.
func count(v uint64) string {
	switch {
	case v < 1000:
		return strconv.FormatUint(v, 10)
	case v < 1_000_000:
		thousands := strconv.FormatUint(v%1000+1000, 10)[1:]
		return strconv.FormatUint(v/1000, 10) + "," + thousands
	}
	unit, short := 0, float64(v)/1e6
	for short >= 999.95 { // it would be rounded to four digits before the point
		short /= 1000
		unit++
	}
	return fourDigits(short) + " " + "MGTPE"[unit:unit+1]
}

// fourDigits returns v, which is from 1 to 1000, with four digits.
func fourDigits(v float64) string {
	decimals := 3
	for limit := 9.9995; v >= limit && decimals > 1; limit *= 10 {
		decimals--
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

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
	Groups []group
	Rows   []row
}

// A group is a heading over neighbouring columns.
type group struct {
	Title   string
	Columns []column
}

// A column shows one number of each cache.
type column struct {
	Title string
	text  func(Snapshot) string
}

// A row is one cache.
type row struct {
	Name  string
	Cells []cell
}

// A cell is one number of one cache. On a narrow screen it stands below no
// heading, so it carries the title of its column, and the first cell of a group
// that of the group.
type cell struct {
	Group, Title, Text string
}

func newPage(caches []Named, dir string, now time.Time) page {
	p := page{
		Dir:    dir,
		Time:   now.UTC().Format("2006-01-02 15:04:05 UTC"),
		Groups: groups(slices.ContainsFunc(caches, weighted)),
	}
	for _, c := range caches {
		p.Rows = append(p.Rows, row{Name: c.Name, Cells: cells(p.Groups, c.Snapshot)})
	}
	return p
}

func weighted(c Named) bool {
	return c.Snapshot.MaxWeight > 0
}

// groups returns the columns of the page, with one for the weight if any cache is
// weighted.
func groups(weighted bool) []group {
	size := []column{{"now", entries}}
	if weighted {
		size = append(size, column{"weight", weight})
	}
	return []group{
		{"gets", []column{
			{"hit ratio", hitRatio},
			{"total", func(s Snapshot) string { return count(s.Gets()) }},
			{"hits", func(s Snapshot) string { return count(s.Hits) }},
			{"misses (expired)", misses},
		}},
		{"entries", append(size,
			column{"set", func(s Snapshot) string { return count(s.Sets) }},
			column{"evicted", func(s Snapshot) string { return count(s.Removals.Evicted) }},
			column{"expired", func(s Snapshot) string { return count(s.Removals.Expired) }},
		)},
		{"loads", []column{
			{"ok", func(s Snapshot) string { return count(s.Loads.OK.Count()) }},
			{"failed", func(s Snapshot) string { return count(s.Loads.Failed.Count()) }},
			{"joined", func(s Snapshot) string { return count(s.Loads.Waiters) }},
			{"p50", func(s Snapshot) string { return quantile(s.Loads.all(), 0.50) }},
			{"p99", func(s Snapshot) string { return quantile(s.Loads.all(), 0.99) }},
		}},
		{"callbacks", []column{
			{"queued", func(s Snapshot) string { return integer(s.Callbacks.Queued) }},
			{"panics", func(s Snapshot) string { return count(s.Callbacks.Panics) }},
		}},
		{"expiry", []column{
			{"pending", func(s Snapshot) string { return integer(s.Expiry.Pending) }},
			{"tombstones", func(s Snapshot) string { return integer(s.Expiry.Tombstones) }},
			{"late p99", func(s Snapshot) string { return quantile(s.Expiry.Lateness, 0.99) }},
		}},
	}
}

func cells(groups []group, s Snapshot) []cell {
	var cells []cell
	for _, g := range groups {
		title := g.Title
		for _, c := range g.Columns {
			cells = append(cells, cell{Group: title, Title: c.Title, Text: c.text(s)})
			title = ""
		}
	}
	return cells
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

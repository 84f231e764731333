package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A series is the curve of one policy.
type series struct {
	name   string
	points []run // by limit
}

// curves returns the series of a report: by limits in bytes, if there are any.
func (r *report) curves() (all []series) {
	unit := ""
	for _, run := range r.Runs {
		unit = run.Unit
	}
	for _, name := range r.policies() {
		other := func(r run) bool { return r.Policy != name || r.Unit != unit }
		if points := slices.DeleteFunc(slices.Clone(r.Runs), other); len(points) >= 2 {
			all = append(all, series{name, points})
		}
	}
	return all
}

// A plane maps limits, on a logarithmic scale, and hit ratios to coordinates from 0 to 1.
type plane struct{ from, to, top float64 }

func planeOf(curves []series, ceiling float64) plane {
	p := plane{from: math.Inf(1), top: ceiling}
	for _, s := range curves {
		for _, r := range s.points {
			p.from, p.to = min(p.from, float64(r.Limit)), max(p.to, float64(r.Limit))
			p.top = max(p.top, r.ratio())
		}
	}
	p.top = min(max(math.Ceil(p.top*10-1e-9)/10, 0.1), 1)
	return p
}

func (p plane) x(limit uint64) float64 {
	return math.Log(float64(limit)/p.from) / math.Log(p.to/p.from)
}

func (p plane) y(ratio float64) float64 { return ratio / p.top }

// ratioAt returns the ratio of a series at x, interpolated.
func (s series) ratioAt(p plane, x float64) float64 {
	i := slices.IndexFunc(s.points, func(r run) bool { return p.x(r.Limit) >= x })
	if i <= 0 {
		return s.points[max(i, 0)].ratio()
	}
	a, b := s.points[i-1], s.points[i]
	f := (x - p.x(a.Limit)) / (p.x(b.Limit) - p.x(a.Limit))
	return a.ratio() + f*(b.ratio()-a.ratio())
}

// symbols are the letters that draw the policies on a terminal.
var symbols = map[string]byte{"lru": 'o', "adaptive": '*', clairvoyant: '.'}

// terminalChart returns the curves drawn with letters, or "" if there are none.
func terminalChart(r *report) string {
	const width = 64
	curves := r.curves()
	if len(curves) == 0 {
		return ""
	}
	p := planeOf(curves, r.Ceiling.ratio())
	tens := int(math.Round(p.top * 10))
	perTen := max(2, 10/tens)
	height := tens * perTen
	cells := make([][]byte, height+1)
	for i := range cells {
		cells[i] = []byte(strings.Repeat(" ", width+1))
	}
	rowOf := func(ratio float64) int { return height - int(math.Round(p.y(ratio)*float64(height))) }
	copy(cells[rowOf(r.Ceiling.ratio())], strings.Repeat("-", width+1))
	slices.SortStableFunc(curves, func(a, b series) int { return strings.Compare(b.name, a.name) })
	for _, s := range curves {
		for column := range width + 1 {
			cells[rowOf(s.ratioAt(p, float64(column)/width))][column] = symbols[s.name]
		}
	}
	var b strings.Builder
	for i, cell := range cells {
		label := ""
		if (height-i)%perTen == 0 {
			label = fmt.Sprintf("%d %%", 10*(height-i)/perTen)
		}
		fmt.Fprintf(&b, "%7s |%s\n", label, strings.TrimRight(string(cell), " "))
	}
	unit := curves[0].points[0].Unit
	least, most := row{limit: uint64(p.from), unit: unit}.name(), row{limit: uint64(p.to), unit: unit}.name()
	fmt.Fprintf(&b, "%7s +%s\n", "", strings.Repeat("-", width+1))
	fmt.Fprintf(&b, "%8s %s%*s\n", "", least, width+1-len(least), most)
	b.WriteString("        ")
	slices.Reverse(curves)
	for _, s := range curves {
		fmt.Fprintf(&b, "  %c %s", symbols[s.name], s.name)
	}
	b.WriteString("  - ceiling\n")
	return b.String()
}

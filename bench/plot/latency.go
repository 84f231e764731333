package main

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// The percentiles of a latency, and how they are drawn.
var marks = []struct {
	metric string
	shape  draw.GlyphDrawer
}{
	{"p50", draw.RingGlyph{}},
	{"p99", draw.CircleGlyph{}},
	{"p99.9", draw.PyramidGlyph{}},
	{"max", draw.CrossGlyph{}},
}

// A span is a line of a latency chart.
type span struct {
	name  string
	ns    []float64 // one for each of the marks
	color color.Color
}

// spans is a chart of latencies, the last on top.
type spans []span

// latency returns the sheet of latencies while a million entries expire.
func latency(r *results.Results) sheet {
	s := sheet{
		file:      "latency.svg",
		title:     "Get and Set in the two seconds after a million entries expired at once",
		note:      "Ring: median; dot: 99 % take less; triangle: 99.9 %; cross: the longest. One goroutine, by turns; null shows what reading the clock and the machine take.",
		rowHeight: 8.5 * vg.Centimeter,
	}
	for _, name := range []string{"burst/uint64", "burst/string"} {
		for _, op := range []string{"Get", "Set"} {
			if p := latencyPanel(r, name, op); p != nil {
				s.panels = append(s.panels, p)
			}
		}
	}
	sameScale(s.panels)
	return s
}

// sameScale gives panels the same scale.
func sameScale(panels []*plot.Plot) {
	least, most := math.Inf(1), 0.0
	for _, p := range panels {
		least, most = min(least, p.X.Min), max(most, p.X.Max)
	}
	for _, p := range panels {
		p.X.Min, p.X.Max = least, most
	}
}

// latencyPanel returns the panel of an operation, or nil if there are no results.
func latencyPanel(r *results.Results, name, op string) *plot.Plot {
	var all spans
	for _, l := range r.Libraries {
		s := span{name: l, color: colorOf(r, l)}
		for _, m := range marks {
			if series := r.Find(name, l, op+" "+m.metric+" ns"); series != nil {
				s.ns = append(s.ns, results.Median(series.Values))
			}
		}
		if len(s.ns) == len(marks) {
			all = append(all, s)
		}
	}
	if all == nil {
		return nil
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(b.ns[2], a.ns[2]) })
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	p := newBarPanel(op+", keys of type "+strings.TrimPrefix(name, "burst/"), names)
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.TickerFunc(powersOfTen)
	p.Add(all)
	return p
}

// Plot implements plot.Plotter.
func (s spans) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, span := range s {
		at := func(ns float64) vg.Point { return vg.Point{X: x(ns), Y: y(float64(i))} }
		c.StrokeLines(draw.LineStyle{Color: span.color, Width: 1}, []vg.Point{at(span.ns[0]), at(span.ns[len(span.ns)-1])})
		for j, m := range marks {
			c.DrawGlyph(draw.GlyphStyle{Color: span.color, Radius: 3, Shape: m.shape}, at(span.ns[j]))
		}
	}
}

// DataRange implements plot.DataRanger. The axis is logarithmic.
func (s spans) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin = math.Inf(1)
	for _, span := range s {
		xmin, xmax = min(xmin, span.ns[0]*0.7), max(xmax, span.ns[len(span.ns)-1]*1.5)
	}
	return xmin, xmax, -0.5, float64(len(s)) - 0.5
}

// powersOfTen returns the ticks of a logarithmic axis of nanoseconds.
func powersOfTen(least, most float64) (ticks []plot.Tick) {
	for v := math.Pow(10, math.Ceil(math.Log10(least))); v <= most; v *= 10 {
		ticks = append(ticks, plot.Tick{Value: v, Label: time.Duration(v).String()})
	}
	return ticks
}

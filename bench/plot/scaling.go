package main

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// simulated is the group of cases of go run ./lines.
const simulated = "lines/"

// A curve is the throughput of a library over the number of processors.
type curve struct {
	name      string
	procs     []float64
	perSecond []float64 // millions
	color     color.Color
}

// curves is a chart with logarithmic axes, the last on top.
type curves []curve

// scaling returns the sheet of simulated throughput on many processors.
func scaling(r *results.Results) sheet {
	s := sheet{
		file:      "scaling.svg",
		title:     "Million operations per second over the number of processors, simulated",
		note:      "A simulation of cache lines: 100,000 entries, keys by a Zipf distribution over 200,000; groups of eight processors share a cache. Higher is better.",
		rowHeight: 7.5 * vg.Centimeter,
	}
	for _, op := range []string{"hot", "reads100", "reads95", "reads75", "refresh-same", "uniform95"} {
		if p := scalingPanel(r, op); p != nil {
			s.panels = append(s.panels, p)
		}
	}
	return s
}

// scalingPanel returns the panel of a load, or nil if there are no results.
func scalingPanel(r *results.Results, op string) *plot.Plot {
	var all curves
	for _, l := range r.Libraries {
		c := curve{name: l, color: colorOf(r, l)}
		for _, s := range r.Series {
			procs, ok := strings.CutPrefix(s.Case, simulated+op+"/")
			if n, err := strconv.Atoi(procs); ok && err == nil && s.Library == l {
				c.procs = append(c.procs, float64(n))
				c.perSecond = append(c.perSecond, 1000/results.Median(s.Values))
			}
		}
		if c.procs != nil {
			all = append(all, c)
		}
	}
	if all == nil {
		return nil
	}
	slices.Reverse(all) // ours is the first, and goes on top
	p := newPanel(scalingCaption(op))
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker = plot.ConstantTicks(ticksAt(all[0].procs))
	p.Y.Tick.Marker = powersOfTen(func(v float64) string { return strconv.Itoa(int(v)) })
	p.Add(all)
	return p
}

func scalingCaption(op string) string {
	switch op {
	case "refresh-same":
		return "Sets of live keys, all equally often"
	case "uniform95":
		return "95 % reads, all keys equally often"
	}
	return caption(op)
}

func ticksAt(values []float64) []plot.Tick {
	var ticks []plot.Tick
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.Itoa(int(v))})
	}
	return ticks
}

// powersOfTen returns the ticks of a logarithmic axis, labelled by label.
func powersOfTen(label func(float64) string) plot.TickerFunc {
	return func(least, most float64) (ticks []plot.Tick) {
		for v := math.Pow(10, math.Ceil(math.Log10(least))); v <= most; v *= 10 {
			ticks = append(ticks, plot.Tick{Value: v, Label: label(v)})
		}
		return ticks
	}
}

// Plot implements plot.Plotter. Each curve has its name at the end.
func (all curves) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	ends := make([]vg.Point, len(all))
	for i, curve := range all {
		points := make([]vg.Point, len(curve.procs))
		for j := range points {
			points[j] = vg.Point{X: x(curve.procs[j]), Y: y(curve.perSecond[j])}
			c.DrawGlyph(draw.GlyphStyle{Color: curve.color, Radius: 2, Shape: draw.CircleGlyph{}}, points[j])
		}
		c.StrokeLines(draw.LineStyle{Color: curve.color, Width: 1.2}, points)
		ends[i] = points[len(points)-1]
	}
	for _, i := range apart(ends, 9) {
		c.FillText(style(8, draw.XLeft), vg.Point{X: ends[i].X + 4, Y: ends[i].Y}, all[i].name)
	}
}

// apart moves points upwards until they have a distance, and returns their indices from the
// lowest up.
func apart(points []vg.Point, distance vg.Length) []int {
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(points[a].Y, points[b].Y) })
	for k := 1; k < len(order); k++ {
		below := points[order[k-1]].Y + distance
		points[order[k]].Y = max(points[order[k]].Y, below)
	}
	return order
}

// DataRange implements plot.DataRanger. Both axes are logarithmic; on the right there is
// room for the names.
func (all curves) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin = math.Inf(1), math.Inf(1)
	for _, c := range all {
		xmin, xmax = min(xmin, c.procs[0]), max(xmax, c.procs[len(c.procs)-1])
		ymin, ymax = min(ymin, slices.Min(c.perSecond)), max(ymax, slices.Max(c.perSecond))
	}
	return xmin * 0.9, xmax * 2, ymin * 0.8, ymax * 1.3
}

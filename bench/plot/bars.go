package main

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A bar is a line of a bar chart.
type bar struct {
	name  string
	value float64
	label string
	color color.Color
}

// bars is a chart of horizontal bars, the last on top.
type bars []bar

// barPanel returns a panel with the best bar on top: the longest, or the shortest.
func barPanel(title string, b bars, longest bool) *plot.Plot {
	slices.SortFunc(b, func(x, y bar) int {
		if longest {
			x, y = y, x
		}
		return cmp.Compare(y.value, x.value)
	})
	names := make([]string, len(b))
	for i := range b {
		names[i] = b[i].name
	}
	b.cut()
	p := newBarPanel(title, names)
	p.HideX()
	p.Add(b)
	return p
}

// cut cuts off a bar more than twice as long as all others, which would hide them.
func (b bars) cut() {
	longest := slices.SortedFunc(slices.Values(b), func(x, y bar) int { return cmp.Compare(y.value, x.value) })
	if len(b) < 3 || longest[0].value <= 2*longest[1].value {
		return
	}
	i := slices.Index(b, longest[0])
	b[i].value = 2 * longest[1].value
	b[i].label += " (cut off)"
}

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, bar := range b {
		end := x(max(bar.value, 0))
		top, bottom := y(float64(i)+0.38), y(float64(i)-0.38)
		c.FillPolygon(bar.color, []vg.Point{{X: x(0), Y: bottom}, {X: end, Y: bottom}, {X: end, Y: top}, {X: x(0), Y: top}})
		c.FillText(style(8, draw.XLeft), vg.Point{X: end + 3, Y: y(float64(i))}, bar.label)
	}
}

// DataRange implements plot.DataRanger. There is room for the labels.
func (b bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, bar := range b {
		xmax = max(xmax, bar.value*1.2)
	}
	return 0, xmax, -0.5, float64(len(b)) - 0.5
}

package main

import (
	"image/color"
	"math"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const columns = 4

var colors = map[string]color.Color{
	"LRU":      color.RGBA{0x88, 0x88, 0x88, 0xff},
	"Adaptive": color.RGBA{0xc0, 0x30, 0x20, 0xff},
	"otter":    color.RGBA{0x20, 0x60, 0xb0, 0xff},
	"theine":   color.RGBA{0x30, 0x90, 0x50, 0xff},
	"MIN":      color.Black,
}

// drawCells draws a panel for each trace that has several capacities: hit ratios over
// the capacity in percent of the distinct keys.
func drawCells(cells []cell, file string) error {
	var panels []*plot.Plot
	for from := 0; from < len(cells); {
		to := from + 1
		for to < len(cells) && cells[to].trace == cells[from].trace {
			to++
		}
		if to-from > 1 {
			p, err := panel(cells[from:to])
			if err != nil {
				return err
			}
			panels = append(panels, p)
		}
		from = to
	}
	rows := (len(panels) + columns - 1) / columns
	image := vgsvg.New(24*vg.Centimeter, vg.Length(rows)*6*vg.Centimeter)
	grid := draw.Tiles{Rows: rows, Cols: columns, PadX: 8, PadY: 8, PadTop: 4, PadLeft: 4, PadRight: 4, PadBottom: 4}
	for i, p := range panels {
		p.Draw(grid.At(draw.New(image), i%columns, i/columns))
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := image.WriteTo(f); err != nil {
		return err
	}
	return f.Close()
}

// panel returns the panel of a trace.
func panel(cells []cell) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = cells[0].trace
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks{}
	p.Y.Min = 0
	var ticks plot.ConstantTicks
	for i, name := range cells[0].names {
		c, ok := colors[name]
		if !ok {
			continue
		}
		var points plotter.XYs
		for _, cell := range cells {
			x := float64(cell.capacity.entries)
			points = append(points, plotter.XY{X: x, Y: cell.ratios[i]})
			if i == 0 {
				ticks = append(ticks, plot.Tick{Value: x, Label: cell.capacity.name})
			}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = c, 1.2
		p.Add(line)
		p.Legend.Add(name, line)
	}
	p.X.Tick.Marker = ticks
	p.Y.Max = math.Ceil(p.Y.Max/10) * 10
	p.Legend.Top, p.Legend.Left = false, false
	return p, nil
}

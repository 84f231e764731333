package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// The colours: one for us, grey for the others, light grey for what is no rival.
var (
	accent = color.RGBA{0x09, 0x69, 0xda, 0xff}
	grey   = color.RGBA{0x8c, 0x95, 0x9f, 0xff}
	light  = color.RGBA{0xcf, 0xd6, 0xdd, 0xff}
	ink    = color.RGBA{0x24, 0x29, 0x2f, 0xff}
)

// sans is the font of everything.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// A sheet is an image: panels in rows of two.
type sheet struct {
	file, title, note string
	panels            []*plot.Plot
	rowHeight         vg.Length
}

const (
	columns     = 2
	sheetWidth  = 24 * vg.Centimeter
	margin      = 0.5 * vg.Centimeter
	titleHeight = 1.5 * vg.Centimeter
	footHeight  = 1.5 * vg.Centimeter
)

// draw draws a sheet, and says below where its figures come from.
func (s sheet) draw(r *results.Results) *vgsvg.Canvas {
	rows := (len(s.panels) + columns - 1) / columns
	height := vg.Length(rows)*s.rowHeight + titleHeight + footHeight
	image := vgsvg.New(sheetWidth, height)
	c := draw.New(image)
	c.SetColor(color.White) // readable on a dark page too
	c.Fill(c.Rectangle.Path())
	c.FillText(style(14, draw.XLeft), vg.Point{X: margin, Y: height - titleHeight*0.4}, s.title)
	c.FillText(style(8, draw.XLeft), vg.Point{X: margin, Y: footHeight * 0.62}, s.note)
	source := fmt.Sprintf("%s; commit %s, %s; %s", r.Machine, r.Commit, r.Date, r.Command)
	c.FillText(style(8, draw.XLeft), vg.Point{X: margin, Y: footHeight * 0.3}, source)

	grid := make([][]*plot.Plot, rows)
	for i := range grid {
		grid[i] = make([]*plot.Plot, columns)
		copy(grid[i], s.panels[i*columns:min(len(s.panels), (i+1)*columns)])
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: margin, PadY: margin}
	for i, row := range plot.Align(grid, tiles, draw.Crop(c, margin, -margin, footHeight, -titleHeight)) {
		for j, panel := range row {
			if grid[i][j] != nil {
				grid[i][j].Draw(panel)
			}
		}
	}
	return image
}

// style returns that of a text in the middle of its line.
func style(points vg.Length, align text.XAlignment) text.Style {
	return text.Style{Color: ink, Font: font.From(sans, points), XAlign: align, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
}

// newBarPanel returns a plot with a line for each name, from top to bottom.
func newBarPanel(title string, names []string) *plot.Plot {
	p := newPanel(title)
	p.NominalY(names...)
	p.Y.Tick.Label = style(9, draw.XRight)
	p.Y.Width = 0
	p.Y.Tick.Width = 0
	return p
}

// newPanel returns a plot with nothing in it.
func newPanel(title string) *plot.Plot {
	plot.DefaultFont = sans
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle = style(10, draw.XCenter)
	p.Title.Padding = 2
	p.X.Tick.Label = style(8, draw.XCenter)
	p.X.Tick.Label.YAlign = draw.YTop
	p.X.Tick.Length = 3
	p.Y.Tick.Label = style(8, draw.XRight)
	return p
}

// colorOf returns the colour of a library.
func colorOf(r *results.Results, library string) color.Color {
	if library == results.Us {
		return accent
	}
	for _, floor := range r.Floors {
		if library == floor {
			return light
		}
	}
	return grey
}

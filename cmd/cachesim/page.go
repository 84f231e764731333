package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// writePage writes the curves to a file: as SVG, or as an HTML page with the table and the
// advice. Neither loads other files.
func writePage(name string, r *report) error {
	if filepath.Ext(name) == ".svg" {
		return os.WriteFile(name, []byte(svgChart(r)), 0o666)
	}
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		*report
		Chart    template.HTML
		About    []string
		Advised  []string
		Policies []string
		Rows     []row
	}{r, template.HTML(svgChart(r)), r.about(), r.advised(), r.policies(), r.rows()})
	if err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// Functions of the template.

// Name is the limit as text.
func (r row) Name() string { return r.name() }

// Part is the limit as a share of the keys.
func (r row) Part(keys uint64) string { return r.partOf(keys) }

// Ratio is the hit ratio of a policy.
func (r row) Ratio(policy string) string {
	run, ok := r.runs[policy]
	return run.text(ok)
}

// ByteRatio is the byte hit ratio of a policy.
func (r row) ByteRatio(policy string) string {
	run, ok := r.runs[policy]
	return ratioText(run.byteRatio(), ok)
}

// The size of the chart in pixels.
const (
	chartWidth, chartHeight = 760, 400
	plotLeft, plotTop       = 60, 20
	plotWidth, plotHeight   = 680, 320
)

// colours are those of Okabe and Ito, which colour-blind people can tell apart.
var colours = map[string]string{"lru": "#0072b2", "adaptive": "#d55e00", clairvoyant: "#009e73"}

// svgStyle follows the colour scheme of the page.
const svgStyle = `<style>
text { font: 13px system-ui, sans-serif; fill: #333 }
.grid { stroke: #ddd }
.ceiling { stroke: #888; stroke-dasharray: 6 4 }
.advice { stroke: #888; stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) { svg { background: #16181d } text { fill: #ddd } .grid { stroke: #3a3d44 } }
</style>
`

func svgChart(r *report) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Hit ratio by limit">`+"\n", chartWidth, chartHeight)
	b.WriteString(svgStyle)
	if curves := r.curves(); len(curves) == 0 {
		fmt.Fprintf(&b, `<text x="%d" y="%d">A curve takes at least two limits.</text>`+"\n", plotLeft, plotTop+plotHeight/2)
	} else {
		d := drawing{&b, planeOf(curves, r.Ceiling.ratio())}
		d.axes(curves[0].points[0].Unit)
		d.ceiling(r.Ceiling.ratio())
		d.advice(r.Advice)
		for i, s := range curves {
			d.series(s, i)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// A drawing is a chart under construction.
type drawing struct {
	out *strings.Builder
	plane
}

func (d drawing) at(limit uint64, ratio float64) (x, y float64) {
	return plotLeft + plotWidth*d.x(limit), plotTop + plotHeight*(1-d.y(ratio))
}

func (d drawing) text(x, y float64, anchor, text string) {
	fmt.Fprintf(d.out, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(text))
}

func (d drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d.out, `<path class="%s" d="M%.1f %.1fL%.1f %.1f"/>`+"\n", class, x1, y1, x2, y2)
}

func (d drawing) axes(unit string) {
	step := 0.1
	if d.top < 0.35 {
		step = 0.05
	}
	for ratio := 0.0; ratio < d.top+1e-9; ratio += step {
		_, y := d.at(uint64(d.from), ratio)
		d.line("grid", plotLeft, y, plotLeft+plotWidth, y)
		d.text(plotLeft-8, y+4, "end", fmt.Sprintf("%.0f %%", 100*ratio))
	}
	multiples := []float64{1, 2, 5}
	if d.to/d.from > 500 {
		multiples = []float64{1}
	}
	for power := math.Floor(math.Log10(d.from)); power <= math.Log10(d.to); power++ {
		for _, m := range multiples {
			limit := uint64(m * math.Pow(10, power))
			if float64(limit) < d.from || float64(limit) > d.to {
				continue
			}
			x, _ := d.at(limit, 0)
			d.line("grid", x, plotTop, x, plotTop+plotHeight)
			d.text(x, plotTop+plotHeight+18, "middle", row{limit: limit, unit: unit}.name())
		}
	}
	what := "limit, entries"
	if unit != "" {
		what = "limit, bytes"
	}
	d.text(plotLeft+plotWidth, plotTop+plotHeight+36, "end", what)
}

func (d drawing) ceiling(ratio float64) {
	_, y := d.at(uint64(d.from), ratio)
	d.line("ceiling", plotLeft, y, plotLeft+plotWidth, y)
	d.text(plotLeft+6, y-5, "start", "ceiling "+percent(ratio))
}

func (d drawing) advice(a advice) {
	if a.Limit == 0 {
		return
	}
	x, y := d.at(a.Limit, a.HitRatio)
	d.line("advice", x, plotTop+plotHeight, x, y)
	d.text(x+5, plotTop+plotHeight-6, "start", "advice: "+row{limit: a.Limit, unit: a.Unit}.name())
}

// series draws curve number i, with its name below the plot.
func (d drawing) series(s series, i int) {
	colour := colours[s.name]
	var path strings.Builder
	for k, r := range s.points {
		x, y := d.at(r.Limit, r.ratio())
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(k, 1)], x, y)
	}
	fmt.Fprintf(d.out, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", &path, colour)
	for _, r := range s.points {
		x, y := d.at(r.Limit, r.ratio())
		if r.Error > 0 {
			_, low := d.at(r.Limit, max(r.ratio()-r.Error, 0))
			_, high := d.at(r.Limit, min(r.ratio()+r.Error, d.top))
			fmt.Fprintf(d.out, `<path d="M%.1f %.1fV%.1f" stroke="%s"/>`+"\n", x, low, high, colour)
		}
		fmt.Fprintf(d.out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s, limit %s: %s</title></circle>`+"\n",
			x, y, colour, s.name, row{limit: r.Limit, unit: r.Unit}.name(), r.text(true))
	}
	x := float64(plotLeft + 110*i)
	y := float64(plotTop + plotHeight + 44)
	fmt.Fprintf(d.out, `<path d="M%.1f %.1fh22" stroke="%s" stroke-width="2"/>`+"\n", x, y-4, colour)
	d.text(x+28, y, "start", s.name)
}

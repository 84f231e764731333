// Command plot draws the results of the benchmarks and writes their tables:
//
//	go run ./plot [-o directory] results.json
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

func main() {
	out := flag.String("o", filepath.Join("..", "docs", "performance"), "write plots into `directory`")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: plot [-o directory] results.json")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(file, out string) error {
	r, err := results.Load(file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, s := range sheets(r) {
		if err := write(filepath.Join(out, s.file), s.draw(r)); err != nil {
			return err
		}
	}
	return r.Tables(os.Stdout)
}

// sheets returns the sheets for which there are results.
func sheets(r *results.Results) []sheet {
	var all []sheet
	for _, s := range append(throughput(r), memory(r), latency(r)) {
		if len(s.panels) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// write writes an image. It names Arial, whose letters are as wide, as a font for browsers
// without that of the plots.
func write(file string, image *vgsvg.Canvas) error {
	var b bytes.Buffer
	if _, err := image.WriteTo(&b); err != nil {
		return err
	}
	svg := bytes.ReplaceAll(b.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,Arial,Helvetica,sans-serif"))
	return os.WriteFile(file, svg, 0o644)
}

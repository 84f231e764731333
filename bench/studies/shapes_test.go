package studies

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkShapes builds programs with one cache and with nine, whose values differ in shape, and
// reports what each of the eight adds to the binary and to the time of compiling.
func BenchmarkShapes(b *testing.B) {
	library, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	build := func(shapes int) (megabytes, seconds float64) {
		dir := b.TempDir()
		uses := new(strings.Builder)
		for i := range shapes {
			fmt.Fprintf(uses, "\tuse[[%d]int]()\n", i+1)
		}
		for name, text := range map[string]string{
			"go.mod": "module shapes\n\ngo 1.25\n\nrequire github.com/pinwheel-cache/pinwheel v0.0.0\n\nreplace github.com/pinwheel-cache/pinwheel => " + library + "\n",
			"main.go": "package main\n\nimport \"github.com/pinwheel-cache/pinwheel/cache\"\n\n" +
				"func use[V any]() {\n\tvar v V\n\tc := cache.Must(cache.Options[string, V]{})\n\tc.Set(\"k\", v)\n\tc.Get(\"k\")\n" +
				"\tc.Take(\"k\", func() (V, error) { return v, nil })\n}\n\nfunc main() {\n" + uses.String() + "}\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		began := time.Now()
		cmd := exec.Command("go", "build", "-mod=mod", "-o", "program")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		took := time.Since(began)
		info, err := os.Stat(filepath.Join(dir, "program"))
		if err != nil {
			b.Fatal(err)
		}
		return float64(info.Size()) / 1e6, took.Seconds()
	}
	build(1) // compiles what they share
	for b.Loop() {
		small, fast := build(1)
		large, slow := build(9)
		b.ReportMetric((large-small)/8, "MB/shape")
		b.ReportMetric((slow-fast)/8, "s/shape")
	}
}

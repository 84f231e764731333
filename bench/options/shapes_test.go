package options

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkShape builds programs with one and with several shapes of caches, and reports what
// each further shape adds to the size of the program and to the processor time of its build.
// Types have one shape if the types that they are made of are alike; all pointers are.
func BenchmarkShape(b *testing.B) {
	if testing.Short() {
		b.Skip("compiles programs")
	}
	const more = 4
	var bytes int64
	var took time.Duration
	for n := range b.N {
		oneBytes, oneTook := build(b, n, 1)
		allBytes, allTook := build(b, n, 1+more)
		bytes += allBytes - oneBytes
		took += allTook - oneTook
	}
	count := float64(more * b.N)
	b.ReportMetric(float64(bytes)/count/1e6, "MB/shape")
	b.ReportMetric(took.Seconds()/count, "s/shape")
	b.ReportMetric(0, "ns/op") // nobody asks for that of all builds
}

// build builds a program with a number of shapes. Each round builds another program, or the
// build cache would answer.
func build(b *testing.B, round, shapes int) (size int64, took time.Duration) {
	b.Helper()
	var source strings.Builder
	fmt.Fprintf(&source, "package main // %d, %v\n\nimport \"github.com/pinwheel-cache/pinwheel/cache\"\n\nfunc main() {\n", round, time.Now())
	for n := range shapes {
		fmt.Fprintf(&source, `	{
		type value = struct{ fields [%d]uint64 }
		c := cache.Must(cache.Options[string, value]{Limit: 10})
		c.Set("key", value{})
		c.Get("key")
		_, _ = c.Take("key", func() (v value, err error) { return v, nil })
		c.Del("key")
	}
`, n+1)
	}
	source.WriteString("}\n")
	file, program := filepath.Join(b.TempDir(), "main.go"), filepath.Join(b.TempDir(), "program")
	if err := os.WriteFile(file, []byte(source.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", program, file)
	if output, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, output)
	}
	info, err := os.Stat(program)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

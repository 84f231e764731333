//go:build !race

// A simulation has one goroutine that runs at a time, and the race detector makes it ten times
// as slow.

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDeterministic: the result depends on the seed only.
func TestDeterministic(t *testing.T) {
	for _, c := range contenders {
		r := run{c, load{name: "reads75", keys: "zipf", reads: 0.75}, 16, near, 1}
		first := r.nsPerOp()
		if again := r.nsPerOp(); again != first {
			t.Errorf("%s: %v, and then %v", c.name, first, again)
		}
		r.seed = 2
		if other := r.nsPerOp(); other == first {
			t.Errorf("%s: %v with each seed", c.name, first)
		}
	}
}

// TestMeasured: the simulation agrees with what was measured on two processors. It is the
// same each time: this fails only if the model has become worse.
func TestMeasured(t *testing.T) {
	measured, err := readMeasured(filepath.Join("..", measured))
	if err != nil {
		t.Fatal(err)
	}
	compared := compare(measured)
	sum, n := 0.0, 0
	for _, c := range compared {
		if c.procs < 2 {
			continue
		}
		if c.wrong() > 0.4 {
			t.Errorf("%s, %s: %.1f ns simulated, %.1f measured", c.library, c.name, c.simulated, c.measured)
		}
		sum += c.wrong()
		n++
	}
	if n < 30 || sum/float64(n) > 0.15 {
		t.Errorf("%d comparisons with two threads are wrong by %.0f %% in the mean", n, 100*sum/float64(n))
	}
}

// TestTable: docs/performance.md has the table of what operations write.
func TestTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := table(); !strings.Contains(string(text), want) {
		t.Errorf("docs/performance.md has not this table:\n%s", want)
	}
}

// TestConstants: the model has the numbers of the program.
func TestConstants(t *testing.T) {
	for name, want := range map[string]int{
		"internal/biased/lock.go: windowWrites += (\\d+)":                                  windowWrites,
		"internal/biased/lock.go: readsPerWrite += (\\d+)":                                 readsPerWrite,
		"internal/biased/lock.go: stripesPerProc += (\\d+)":                                stripesPerProc,
		"internal/biased/lock.go: minStripes, fewStripes, maxStripes = (\\d+)":             minStripes,
		"internal/biased/lock.go: minStripes, fewStripes, maxStripes = \\d+, (\\d+)":       fewStripes,
		"internal/biased/lock.go: minStripes, fewStripes, maxStripes = \\d+, \\d+, (\\d+)": maxStripes,
		"internal/biased/lock.go: crowded = (\\d+)":                                        crowded,
		"cache/table.go: fewestPerShard, mostPerShard = (\\d+)":                            fewestPerShard,
		"cache/table.go: fewestPerShard, mostPerShard = \\d+, (\\d+)":                      mostPerShard,
		"cache/table.go: shardsPerProc = (\\d+)":                                           shardsPerProc,
		"lru/marks.go: maxMark = (\\d+)":                                                   maxMark,
	} {
		file, pattern, _ := strings.Cut(name, ": ")
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s: not found", name)
		} else if got, _ := strconv.Atoi(string(found[1])); got != want {
			t.Errorf("%s: %d there, %d in the model", name, got, want)
		}
	}
}

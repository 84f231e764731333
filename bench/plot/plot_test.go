package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// sample returns results of two libraries for every panel.
func sample() *results.Results {
	r := &results.Results{Libraries: []string{results.Us, "a map", "null"}, Floors: []string{"a map", "null"}, Commit: "0123456789ab", Date: "2000-01-01", Command: "go run . -case 'a|b'"}
	for i, l := range r.Libraries {
		for _, op := range []string{"reads100", "reads95", "reads75", "reads50", "reads0", "hot"} {
			r.Add(shown+op+"/1 thread", l, results.NsPerOp, 10*float64(i+1), 20)
		}
		for _, keys := range []string{"uint64", "string"} {
			r.Add("memory/"+keys, l, "B/entry", 50)
			r.Add("memory/"+keys, l, "GC ms", -0.1)
			for _, op := range []string{"Get", "Set"} {
				for j, m := range marks {
					r.Add("burst/"+keys, l, op+" "+m.metric+" ns", float64(100*(j+1)))
				}
			}
		}
	}
	return r
}

func TestSheets(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.json")
	if err := sample().Save(file); err != nil {
		t.Fatal(err)
	}
	if err := run(file, dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"throughput-1-thread.svg": {"pinwheel", "a map", "0123456789ab", "2000-01-01", "go run . -case"},
		"memory.svg":              {"bytes per entry"},
		"latency.svg":             {"null", "keys of type string"},
	} {
		svg, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		for _, text := range want {
			if !strings.Contains(string(svg), text) {
				t.Errorf("%s lacks %q", name, text)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "throughput-2-threads.svg")); err == nil {
		t.Error("there is a plot without results")
	}
}

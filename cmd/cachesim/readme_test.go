package main

import (
	"os"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// TestReadme runs the commands of the README and compares their output.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	settle.Must(t, err)
	t.Chdir("testdata")
	blocks := strings.Split(string(readme), "```console\n$ cachesim ")[1:]
	if len(blocks) < 2 {
		t.Fatalf("%d commands, want two", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```\n")
		args, want, _ := strings.Cut(block, "\n")
		status, got, stderr := cachesim("", strings.Fields(args)...)
		if status != 0 {
			t.Errorf("%s: %s", args, stderr)
		}
		begin, cut := strings.CutSuffix(want, "...\n")
		if got != want && !(cut && strings.HasPrefix(got, begin)) {
			t.Errorf("cachesim %s prints\n%s\nwant\n%s", args, got, want)
		}
	}
}

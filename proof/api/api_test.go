package api

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/proof/internal/harness"
)

var update = flag.Bool("update", false, "write docs/api anew")

const root = "../.."

// released returns the folders of the modules that scripts/release tags.
func released(t *testing.T) []string {
	t.Helper()
	script, err := os.ReadFile(root + "/scripts/release")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^modules=\((.*)\)`).FindSubmatch(script)
	if m == nil {
		t.Fatal("scripts/release has no line that begins with modules=(")
	}
	return append([]string{"."}, strings.Fields(string(m[1]))...)
}

// TestAPI compares the exported names of each module with docs/api.
//
// Catches: a name that goes, changes or comes without being seen.
func TestAPI(t *testing.T) {
	harness.DependOnTree(t)
	var files []string
	for _, module := range released(t) {
		if module == "cmd/pinwheel-relay" || module == "cmd/pinwheel-move" { // programs alone, without exported names
			continue
		}
		file := strings.ReplaceAll(module, "/", "-") + ".txt"
		if module == "." {
			file = "pinwheel.txt"
		}
		files = append(files, file)
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			is, err := list(filepath.Join(root, module))
			if err != nil {
				t.Fatal(err)
			}
			if len(is) == 0 {
				t.Fatal("no exported names")
			}
			path := filepath.Join(root, "docs/api", file)
			if *update {
				if err := os.WriteFile(path, []byte(strings.Join(is, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			gone, added := differences(strings.Split(strings.TrimSpace(string(text)), "\n"), is)
			for _, line := range gone {
				t.Errorf("gone: %s", line)
			}
			for _, line := range added {
				t.Errorf("new: %s", line)
			}
			if t.Failed() {
				t.Log("if that is meant: go test ./api -update in proof, and a line in CHANGELOG.md")
			}
		})
	}
	present, err := filepath.Glob(root + "/docs/api/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range present {
		if !slices.Contains(files, filepath.Base(path)) {
			t.Errorf("%s is of no module", path)
		}
	}
}

func TestDifferences(t *testing.T) {
	gone, added := differences([]string{"a", "b", "d"}, []string{"b", "c", "d", "e"})
	if !slices.Equal(gone, []string{"a"}) || !slices.Equal(added, []string{"c", "e"}) {
		t.Errorf("gone %q, added %q", gone, added)
	}
}

package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what programs become to testdata, and the table of docs/migration.md")

// TestGolden moves each program of testdata and compares it with what it should become. That
// compiles: move reverts what does not, and then the texts differ.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "*", "before"))
	if err != nil || len(dirs) < 9 {
		t.Fatal(dirs, err)
	}
	m, err := move("testdata", []string{"./.../before"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for path, text := range m.texts {
		dir, base := filepath.Split(path)
		after := filepath.Join(filepath.Dir(filepath.Clean(dir)), "after", base)
		seen[after] = true
		if *update {
			if err := os.WriteFile(after, text, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want, err := os.ReadFile(after); err != nil || string(want) != string(text) {
			t.Errorf("%s becomes\n%s\nnot what is in %s: %v", m.name(path), text, after, err)
		}
	}
	afters, _ := filepath.Glob(filepath.Join("testdata", "*", "after", "*.go"))
	for _, after := range afters {
		if abs, _ := filepath.Abs(after); !seen[abs] {
			t.Errorf("%s: nothing becomes this", after)
		}
	}
}

// TestTable compares the table of docs/migration.md with the rules.
func TestTable(t *testing.T) {
	const begin, end = "<!-- pinwheel-move -->\n", "<!-- /pinwheel-move -->"
	path := filepath.Join("..", "..", "docs", "migration.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/migration.md has no place for the table")
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+rows()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != rows() {
		t.Errorf("the table in docs/migration.md is\n%s\nand the rules are\n%s\ngo -C cmd/pinwheel-move test . -run TestTable -update", table, rows())
	}
}

// rows returns the rules as a table, in which methods of which the same becomes are one row.
func rows() string {
	var b strings.Builder
	b.WriteString("| library | there | here |\n|---|---|---|\n")
	paths := slices.Sorted(maps.Keys(libraries))
	for _, path := range paths {
		lib := libraries[path]
		names := map[string][]string{}
		for name, r := range lib.rules {
			_, method, isMethod := strings.Cut(name, ".")
			if !isMethod {
				method = name
			}
			names[r.becomes] = append(names[r.becomes], "`"+method+"`")
		}
		if lib.dropIn != "" {
			names["the same, of `"+strings.TrimPrefix(lib.dropIn, "github.com/pinwheel-cache/pinwheel/")+"`"] = []string{"`Cache` and its methods"}
		}
		becomes := slices.Sorted(maps.Keys(names))
		for _, to := range becomes {
			slices.Sort(names[to])
			fmt.Fprintf(&b, "| %s | %s | %s |\n", lib.name, strings.Join(names[to], ", "), to)
		}
	}
	return b.String()
}

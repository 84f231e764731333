package pinwheel_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pinwheel-cache/pinwheel"

// TestImports compares every import of every Go file, for all platforms, with the list of
// arrows in CONTRIBUTING.md.
//
// Catches: an import without an arrow, an arrow that runs upward or that nothing goes
// along any more, a package without a line, and another module that imports, but for its
// tests, what is internal to the library. Of others: a logger or a Prometheus client in the library;
// in gozero/collection, more of go-zero than logx and the interface of a ticker, which would
// install signal handlers.
func TestImports(t *testing.T) {
	all, imports := readLayers(t), allImports(t)
	for _, problem := range all.problems(imports) {
		t.Error(problem)
	}
}

// Catches: a check that finds nothing wrong whatever it is given.
func TestImportsAreReallyChecked(t *testing.T) {
	imports := allImports(t)
	if len(imports) < 1000 || !slices.Contains(imports, imported{"cache/shard.go", module + "/internal/eviction"}) {
		t.Errorf("%d imports", len(imports))
	}
	all := parseLayers("top → low\nmiddle →\nlow → base/internal\nbase →\nbase/internal →\n", []string{".", "top"})
	for _, c := range []struct{ file, pkg, want string }{
		{"top/a.go", module + "/low", ""},
		{"top/a.go", module + "/top/deeper", ""},
		{"top/a.go", "example.com/x", ""},
		{"top/a.go", module + "/base", "no arrow"},
		{"top/a_test.go", module + "/base", ""},
		{"top/a.go", module + "/base/internal/x", "internal to another module"},
		{"top/a_test.go", module + "/base/internal/x", ""},
		{"low/deeper/a.go", module + "/base/internal/x", ""},
		{"low/a.go", module + "/middle", "upward"},
		{"low/a_test.go", module + "/middle", "upward"},
		{"low/a.go", module + "/none", "no line"},
		{"none/a.go", "fmt", "no line"},
		{"low/a.go", "net/http", ""},
		{"low/a.go", "golang.org/x/sync/errgroup", ""},
		{"low/a.go", "golang.org/x/mod", "not of the library"},
		{"low/a.go", "go.uber.org/goleak", "not of the library"},
		{"low/a_test.go", "go.uber.org/goleak", ""},
	} {
		if got := all.problem(imported{c.file, c.pkg}); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: %q, want %q", c.file, c.pkg, got, c.want)
		}
	}
	if got := all.problems([]imported{{"top/a.go", module + "/low"}}); len(got) != 1 || !strings.Contains(got[0], "low → base/internal") {
		t.Errorf("%q, want the one arrow that is not used", got)
	}
}

// TestPackagesAreNamed checks that the table in CONTRIBUTING.md has every package, and only
// folders that exist.
func TestPackagesAreNamed(t *testing.T) {
	var places []string
	for _, row := range regexp.MustCompile("(?m)^\\|( `[a-z/]+/`,?)+ \\|").FindAllString(readText(t, "CONTRIBUTING.md"), -1) {
		for _, m := range regexp.MustCompile("`(.*?)/`").FindAllStringSubmatch(row, -1) {
			places = append(places, m[1])
		}
	}
	packages := map[string]bool{}
	walkFiles(t, ".go", func(file string, _ []byte) { packages[path.Dir(file)] = true })
	for dir := range packages {
		if dir != "." && !slices.ContainsFunc(places, func(place string) bool { return within(dir, place) }) {
			t.Errorf("no row has the package %s", dir)
		}
	}
	for _, place := range places {
		if _, err := os.Stat(place); err != nil {
			t.Errorf("a row has %s/: %v", place, err)
		}
	}
}

// layers are the lines of the list of arrows, the topmost first.
type layers struct {
	lines   []layer
	modules []string // folders
}

// A layer is a folder, with what is below it and has no line of its own. It imports
// others below.
type layer struct {
	folder  string
	imports []string
}

// An imported package, and the file that imports it.
type imported struct{ file, pkg string }

func readLayers(t *testing.T) layers {
	t.Helper()
	block := regexp.MustCompile("(?s)```\n(.*?)```").FindStringSubmatch(readText(t, "CONTRIBUTING.md"))
	if block == nil {
		t.Fatal("CONTRIBUTING.md has no list of arrows")
	}
	var modules []string
	walkFiles(t, "go.mod", func(file string, _ []byte) { modules = append(modules, path.Dir(file)) })
	return parseLayers(block[1], modules)
}

func parseLayers(list string, modules []string) layers {
	all := layers{modules: modules}
	for line := range strings.Lines(list) {
		folder, imports, _ := strings.Cut(line, "→")
		all.lines = append(all.lines, layer{strings.TrimSpace(folder), strings.Fields(imports)})
	}
	return all
}

// problems returns what is wrong with imports, and which arrows they do not need.
func (l layers) problems(imports []imported) (problems []string) {
	used := map[string]bool{}
	for _, i := range imports {
		if problem := l.problem(i); problem != "" {
			problems = append(problems, fmt.Sprintf("%s imports %s: %s", i.file, i.pkg, problem))
		} else if pkg, ours := strings.CutPrefix(i.pkg, module+"/"); ours {
			used[l.lines[l.find(path.Dir(i.file))].folder+" → "+l.lines[l.find(pkg)].folder] = true
		}
	}
	for _, from := range l.lines {
		for _, to := range from.imports {
			if arrow := from.folder + " → " + to; !used[arrow] {
				problems = append(problems, "CONTRIBUTING.md has "+arrow+", and no file has that import")
			}
		}
	}
	return problems
}

// problem returns what is wrong with an import, or "".
func (l layers) problem(i imported) string {
	dir, test := path.Dir(i.file), strings.HasSuffix(i.file, "_test.go")
	pkg, ours := strings.CutPrefix(i.pkg, module+"/")
	from, to := l.find(dir), l.find(pkg)
	switch {
	case from < 0:
		return "CONTRIBUTING.md has no line for " + dir
	case !ours && !l.mayImport(dir, i.pkg, test):
		return "that is not of the library, the standard library or golang.org/x/sync"
	case !ours:
		return ""
	case to < 0:
		return "CONTRIBUTING.md has no line for " + pkg
	case to < from:
		return "that is upward"
	case !test && l.module(dir) != l.module(pkg) && slices.Contains(strings.Split(pkg, "/"), "internal"):
		return "that is internal to another module"
	case from != to && !test && !slices.Contains(l.lines[from].imports, l.lines[to].folder): // a test may go all the way down
		return "CONTRIBUTING.md has no arrow for it"
	}
	return ""
}

// mayImport reports whether a file may import a package of others.
func (l layers) mayImport(dir, pkg string, test bool) bool {
	first, _, _ := strings.Cut(pkg, "/")
	switch {
	case !strings.Contains(first, "."), strings.HasPrefix(pkg, "golang.org/x/sync/"):
		return true
	case dir == "gozero/collection":
		return test || pkg == "github.com/zeromicro/go-zero/core/timex" || pkg == "github.com/zeromicro/go-zero/core/logx"
	case l.module(dir) == ".":
		return (test || dir == "internal/settle") && (pkg == "pgregory.net/rapid" || pkg == "go.uber.org/goleak")
	}
	return true
}

// find returns the line of a package, or -1.
func (l layers) find(pkg string) int {
	found := -1
	for i, line := range l.lines {
		if within(pkg, line.folder) && (found < 0 || len(line.folder) > len(l.lines[found].folder)) {
			found = i
		}
	}
	return found
}

// module returns the folder of the module that a package is in.
func (l layers) module(pkg string) string {
	found := "."
	for _, dir := range l.modules {
		if within(pkg, dir) && len(dir) > len(found) {
			found = dir
		}
	}
	return found
}

// within reports whether a package is a folder or below it.
func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// allImports returns every import in the repository.
func allImports(t *testing.T) (all []imported) {
	t.Helper()
	walkFiles(t, ".go", func(file string, text []byte) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		must(t, err)
		for _, spec := range parsed.Imports {
			pkg, err := strconv.Unquote(spec.Path.Value)
			must(t, err)
			all = append(all, imported{file, pkg})
		}
	})
	return all
}

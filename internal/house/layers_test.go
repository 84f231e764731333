package house

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLayers compares every use of a name in package cache with the map in CONTRIBUTING.md:
// a file uses what its own layer and those below declare, and nothing of a layer above. A
// struct may have a field for a layer above, which only that layer then looks into.
//
// Catches: a call, a field, a type or a constant of a higher layer in a lower one, and a file
// that the map does not have, or that does not begin with what lives there.
func TestLayers(t *testing.T) {
	layer := readMap(t)
	pkg := checkPackage(t, "cache", nil)
	for _, file := range pkg.files {
		name := pkg.nameOf(file.Package)
		if layer[name] == 0 {
			t.Errorf("CONTRIBUTING.md has no row for cache/%s: add one to the map of cache, in its layer", name)
		}
		delete(layer, name)
		if len(file.Comments) == 0 || file.Comments[0].Pos() > file.Package {
			t.Errorf("cache/%s: want a sentence before the package clause that says what lives there", name)
		}
	}
	for name := range layer {
		t.Errorf("CONTRIBUTING.md has a row for cache/%s, which is not there", name)
	}
	for arrow, uses := range pkg.upward(readMap(t)) {
		t.Errorf("%s: a layer above, for %s", arrow, strings.Join(uses, ", "))
	}
}

// Catches: a check that finds nothing wrong whatever it is given.
func TestLayersAreReallyChecked(t *testing.T) {
	const extra = `package cache
func (s *shard[K, V]) upward(c *Cache[K, V]) { c.Clear() }
type carries[K comparable, V any] struct { c *Cache[K, V] }
`
	layer := readMap(t)
	layer["extra.go"] = layer["shard.go"]
	got := checkPackage(t, "cache", map[string]string{"extra.go": extra}).upward(layer)
	for name := range layer {
		for _, use := range got["extra.go → "+name] {
			if use != "Cache" && use != "Clear" {
				t.Errorf("extra.go uses %s of %s, says the check", use, name)
			}
		}
	}
	found := 0
	for arrow, uses := range got {
		if strings.HasPrefix(arrow, "extra.go") {
			found += len(uses)
		}
	}
	if found != 2 {
		t.Errorf("%d names of higher layers found in extra.go, want Cache and Clear once each: %v", found, got)
	}
}

// readMap returns the layers of the files of package cache: 1 for the lowest.
func readMap(t *testing.T) map[string]int {
	t.Helper()
	layers := []string{"machine", "loads", "API"}
	files := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| (API|loads|machine) \\| `([a-z]+\\.go)` \\|").FindAllStringSubmatch(contributing(t), -1) {
		if files[row[2]] != 0 {
			t.Errorf("CONTRIBUTING.md has two rows for cache/%s", row[2])
		}
		files[row[2]] = slices.Index(layers, row[1]) + 1
	}
	return files
}

// A checkedPackage is a package with the meaning of its names.
type checkedPackage struct {
	*types.Package
	fset  *token.FileSet
	files []*ast.File
	uses  map[*ast.Ident]types.Object
}

// upward returns the uses of names that a file of a higher layer declares, by arrows from
// file to file. A type in the declaration of a struct is none.
func (p *checkedPackage) upward(layer map[string]int) map[string][]string {
	inStruct := map[*ast.Ident]bool{}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				ast.Inspect(s, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						inStruct[id] = true
					}
					return true
				})
			}
			return true
		})
	}
	arrows := map[string][]string{}
	for id, used := range p.uses {
		if used.Pkg() != p.Package || inStruct[id] {
			continue
		}
		from, to := p.nameOf(id.Pos()), p.nameOf(used.Pos())
		if layer[from] < layer[to] {
			arrow := from + " → " + to
			if !slices.Contains(arrows[arrow], id.Name) {
				arrows[arrow] = append(arrows[arrow], id.Name)
			}
		}
	}
	return arrows
}

func (p *checkedPackage) nameOf(pos token.Pos) string {
	return filepath.Base(p.fset.Position(pos).Filename)
}

// checkPackage parses and type-checks a package of the library, without its tests and with
// extra files.
func checkPackage(t *testing.T, dir string, extra map[string]string) *checkedPackage {
	t.Helper()
	p := &checkedPackage{fset: token.NewFileSet(), uses: map[*ast.Ident]types.Object{}}
	parse := func(name string, text any) {
		file, err := parser.ParseFile(p.fset, name, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, file)
	}
	names, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			parse(name, nil)
		}
	}
	for name, text := range extra {
		parse(name, text)
	}
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", exportData(t, dir))}
	p.Package, err = conf.Check(module+"/"+dir, p.fset, p.files, &types.Info{Uses: p.uses})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exportData returns a function that opens what the compiler has exported of a package that
// the one in dir needs.
func exportData(t *testing.T, dir string) importer.Lookup {
	t.Helper()
	exported := map[string]string{}
	list := json.NewDecoder(strings.NewReader(goCommand(t, ".", "readonly", "list", "-export", "-deps", "-json=ImportPath,Export", "./"+dir)))
	for list.More() {
		var pkg struct{ ImportPath, Export string }
		if err := list.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		exported[pkg.ImportPath] = pkg.Export
	}
	return func(path string) (io.ReadCloser, error) {
		file, ok := exported[path]
		if !ok {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(file)
	}
}

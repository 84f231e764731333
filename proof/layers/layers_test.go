// Package layers holds the files of package cache to layers: the API that users call, the loads,
// the machine that keeps entries, and what knows none of these. Calls run down, or stay in their
// layer.
package layers

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// layers are the files of each layer, the topmost first.
var layers = []struct {
	name  string
	files string
}{
	{"API", "options check event cache inline tune get set del expire delfunc touch compute take terms takemany fetch base walk coldwalk save savefile restore stats hotkeys record limit elastic negative close"},
	{"loads", "errors look join gather run conclude caller fetcher renewal filters troubles"},
	{"machine", "shard arrays slots lives earlier turn tally pending sizing store removal budget room evict expiry due timing driver table common fence load loading kepterrors watch"},
	{"leaf", "goroutine tunable"},
}

// largest is how many files call each other in a circle, in any way. It may only shrink.
const largest = 4

// An arrow is a call of a function by code of another file.
type arrow struct{ from, to, function string }

// TestLayers checks all calls from file to file, and that each file says first what it has.
//
// Catches: a call from the machine to the API, a file that belongs nowhere or does not say what
// for, a circle of calls through more files than now, and any in the machine.
func TestLayers(t *testing.T) {
	files, arrows := calls(t, "../../cache")
	files = slices.DeleteFunc(files, func(file string) bool { return file == "doc" })
	layer := map[string]int{}
	for i, l := range layers {
		for _, file := range strings.Fields(l.files) {
			layer[file] = i
		}
	}
	for _, file := range files {
		if _, ok := layer[file]; !ok {
			t.Errorf("%s.go is in no layer", file)
		}
		if text, err := os.ReadFile("../../cache/" + file + ".go"); err != nil || !strings.HasPrefix(string(text), "// This file ") {
			t.Errorf("%s.go does not begin with a sentence that says what it has: %v", file, err)
		}
	}
	for a := range arrows {
		if layer[a.to] < layer[a.from] {
			t.Errorf("%s.go calls %s of %s.go, which is above: of the %s", a.from, a.function, a.to, layers[layer[a.to]].name)
		}
	}
	if circle := largestCircle(files, arrows); len(circle) != largest {
		t.Errorf("%d files call each other, want %d, and to write down if they are fewer: %v", len(circle), largest, circle)
	}
	machine := slices.DeleteFunc(files, func(file string) bool { return layers[layer[file]].name != "machine" })
	if circle := largestCircle(machine, arrows); len(circle) > 1 {
		t.Errorf("these files of the machine call each other: %v", circle)
	}
}

// circles are the most files of other packages that call each other in a circle. They may only shrink.
var circles = map[string]int{
	"timingwheel": 2, "timingwheel/ring": 0, "lru": 0, "near": 0, "near/redis": 0, "stats": 5, "cmd/cachesim": 3,
	"internal/eviction": 3, "internal/runner": 0, "internal/biased": 0, "internal/index": 0,
	"internal/recording": 0, "internal/snapshot": 2, "internal/hotkeys": 0, "cache/internal/flight": 0,
}

// TestCircles checks the calls between the files of other packages.
//
// Catches: files of them that call each other in a larger circle than now.
func TestCircles(t *testing.T) {
	for dir, most := range circles {
		files, arrows := calls(t, "../../"+dir)
		if circle := largestCircle(files, arrows); len(circle) != most {
			t.Errorf("%s: %d files call each other, want %d, and to write down if they are fewer: %v", dir, len(circle), most, circle)
		}
	}
}

// Catches: calls that are not seen.
func TestCallsAreSeen(t *testing.T) {
	_, arrows := calls(t, "../../cache")
	for _, a := range []arrow{
		{"conclude", "removal", "del"}, // a method of a generic type
		{"take", "check", "checkTake"}, // a function
	} {
		if !arrows[a] {
			t.Errorf("not seen: %s.go calls %s of %s.go", a.from, a.function, a.to)
		}
	}
	if len(arrows) < 300 {
		t.Errorf("only %d calls", len(arrows))
	}
	if got := largestCircle([]string{"a", "b", "c", "d"}, map[arrow]bool{{"a", "b", ""}: true, {"b", "c", ""}: true, {"c", "a", ""}: true, {"d", "a", ""}: true}); len(got) != 3 {
		t.Errorf("a circle of three is %v", got)
	}
}

// calls returns the files of a package, without .go, and the calls between them.
func calls(t *testing.T, dir string) (files []string, arrows map[arrow]bool) {
	t.Helper()
	p := load(t, dir, nil, ".")[0]
	arrows = map[arrow]bool{}
	for _, file := range p.Syntax {
		from := fileOf(p, file)
		files = append(files, from)
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			f, ok := p.TypesInfo.Uses[id].(*types.Func)
			if !ok || f.Pkg() != p.Types {
				return true
			}
			if to := fileOf(p, f.Origin()); to != from {
				arrows[arrow{from, to, f.Name()}] = true
			}
			return true
		})
	}
	return files, arrows
}

// load loads packages with their syntax and types, without their tests. overlay has files that are not there.
func load(t *testing.T, dir string, overlay map[string][]byte, patterns ...string) []*packages.Package {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Dir:  dir, Overlay: overlay,
	}, patterns...)
	if err != nil || len(loaded) == 0 || packages.PrintErrors(loaded) > 0 {
		t.Fatal(err, loaded)
	}
	return loaded
}

// fileOf returns the file of a declaration, without .go.
func fileOf(p *packages.Package, n interface{ Pos() token.Pos }) string {
	return strings.TrimSuffix(filepath.Base(p.Fset.Position(n.Pos()).Filename), ".go")
}

// largestCircle returns the largest set of files each of which leads to each other one.
func largestCircle(files []string, arrows map[arrow]bool) (largest []string) {
	next := map[string]map[string]bool{}
	for a := range arrows {
		if next[a.from] == nil {
			next[a.from] = map[string]bool{}
		}
		next[a.from][a.to] = true
	}
	reach := map[string]map[string]bool{}
	for _, file := range files {
		seen := map[string]bool{}
		for todo := []string{file}; len(todo) > 0; {
			at := todo[0]
			todo = todo[1:]
			for to := range maps.Keys(next[at]) {
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		reach[file] = seen
	}
	for _, file := range files {
		var circle []string
		for _, other := range files {
			if reach[file][other] && reach[other][file] {
				circle = append(circle, other)
			}
		}
		if len(circle) > len(largest) {
			largest = circle
		}
	}
	return largest
}

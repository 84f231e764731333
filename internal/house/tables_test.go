package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLocksAreNamed checks that the tables of locks in CONTRIBUTING.md name every mutex of the
// library and of near, by its type and field, and none that does not exist.
//
// Catches: a new lock whose place in the order nobody has thought of, and a row that is out of
// date.
func TestLocksAreNamed(t *testing.T) {
	_, section, _ := strings.Cut(contributing(t), "\n## The locks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`(?:[a-z]+\\.)?([A-Za-z]+\\.(?:mu|lock|shape|resizing|[a-z]+ing))`").FindAllStringSubmatch(section, -1) {
		named[m[1]] = true
	}
	locks := allLocks(t)
	if len(locks) < 15 {
		t.Fatalf("only %d locks were found: %v", len(locks), locks)
	}
	for lock, file := range locks {
		if !named[lock] {
			t.Errorf("%s has %s: want a row in the tables of locks of CONTRIBUTING.md, which says what comes before it and after", file, lock)
		}
	}
	for lock := range named {
		if locks[lock] == "" {
			t.Errorf("CONTRIBUTING.md names the lock %s: no struct has it", lock)
		}
	}
}

// allLocks returns the locks of the library and of near, as Type.field, with their files.
func allLocks(t *testing.T) map[string]string {
	t.Helper()
	locks := map[string]string{}
	walkFiles(t, ".go", func(file string, text []byte) {
		top, _, _ := strings.Cut(file, "/")
		library := slices.Contains([]string{"cache", "timingwheel", "lru", "stats", "internal"}, top) || path.Dir(file) == "near"
		if !library || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					if kind := types.ExprString(field.Type); kind != "sync.Mutex" && kind != "sync.RWMutex" && kind != "biased.Lock" {
						continue
					}
					for _, name := range field.Names {
						locks[spec.Name.Name+"."+name.Name] = file
					}
					if len(field.Names) == 0 {
						t.Errorf("%s: %s embeds a lock: give it a name, for the tables of locks", file, spec.Name.Name)
					}
				}
			}
			return true
		})
	})
	return locks
}

// TestArraysAreNamed checks that the table of arrays in CONTRIBUTING.md has every array of a
// shard of the cache, with its bytes for each entry.
//
// Catches: a new array that nobody has counted, and bytes that are out of date.
func TestArraysAreNamed(t *testing.T) {
	rows := map[string]string{} // bytes by the first word
	for _, m := range regexp.MustCompile("(?m)^\\| ([a-z]+)\\b[^|]*\\| `[a-z]+` \\| ([^|]+) \\|").FindAllStringSubmatch(contributing(t), -1) {
		rows[m[1]] = m[2]
	}
	shard := checkPackage(t, "cache", nil).Scope().Lookup("shard").Type().Underlying().(*types.Struct)
	sizes := types.SizesFor("gc", "amd64")
	arrays := map[string]bool{}
	for i := range shard.NumFields() {
		field := shard.Field(i)
		array, ok := field.Type().(*types.Slice)
		if !ok {
			continue
		}
		arrays[field.Name()] = true
		want := "8 + K + V"
		if field.Name() != "entries" {
			want = strconv.FormatInt(sizes.Sizeof(array.Elem()), 10)
		}
		if got := rows[field.Name()]; got != want {
			t.Errorf("the table of arrays says %q bytes for %s, want %s", got, field.Name(), want)
		}
	}
	if len(arrays) < 5 || len(rows) != len(arrays)+3 { // index, order and tasks are not slices of a shard
		t.Errorf("the table has %q, and a shard %q", slices.Sorted(maps.Keys(rows)), slices.Sorted(maps.Keys(arrays)))
	}
}

// Package api compares what the modules export with the listings in docs/api, which are under
// version control. So a name that goes or changes is seen when it does, and stands in a diff.
package api

import (
	"flag"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

var update = flag.Bool("update", false, "write the listings anew")

// listings are the files in docs/api, with the folder of each module.
var listings = map[string]string{
	"pinwheel.txt":      ".",
	"gozero.txt":        "gozero",
	"otel.txt":          "otel",
	"prometheus.txt":    "prometheus",
	"near-redis.txt":    "near/redis",
	"near-gozero.txt":   "near/gozero",
	"near-postgres.txt": "near/postgres",
}

// unlisted are packages that promise nothing, and are not internal as tests of other modules use them.
var unlisted = []string{"github.com/pinwheel-cache/pinwheel/near/redis/redistest", "github.com/pinwheel-cache/pinwheel/near/postgres/postgrestest"}

// TestListings compares the listings with the code. After a change that is meant, run
//
//	go test -C proof ./api -update
//
// and see docs/versions.md for what a release may change.
func TestListings(t *testing.T) {
	for file, folder := range listings {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			got, path := listing(t, filepath.Join("../..", folder)), filepath.Join("../../docs/api", file)
			if *update {
				settle.Must(t, os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o644))
				return
			}
			text, err := os.ReadFile(path)
			settle.Must(t, err)
			want := strings.Split(strings.TrimSpace(string(text)), "\n")
			for _, problem := range differences(got, want) {
				t.Errorf("%s; if that is meant: go test -C proof ./api -update", problem)
			}
		})
	}
}

// differences says which lines of the listing have gone from the code, and which are new.
func differences(code, listed []string) (all []string) {
	for _, line := range listed {
		if !slices.Contains(code, line) {
			all = append(all, "gone or changed: "+line)
		}
	}
	for _, line := range code {
		if !slices.Contains(listed, line) {
			all = append(all, "not listed: "+line)
		}
	}
	return all
}

// Catches: a comparison that sees nothing, and a listing that leaves out kinds of names.
func TestDifferencesAreSeen(t *testing.T) {
	got := differences([]string{"a", "b"}, []string{"b", "c"})
	if want := []string{"gone or changed: c", "not listed: a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	library := listing(t, "../..")
	for _, line := range []string{
		"cache: func New[K comparable, V any](o Options[K, V]) (*Cache[K, V], error)",
		"cache: method (c *Cache[K, V]) Get(key K) (value V, ok bool)",
		"cache: type Options[K comparable, V any] struct",
		"cache: field Options.Limit int",
		"cache: const Evicted Cause = 2",
		"cache: var ErrArgument error",
		"cache/codec: func JSON[K comparable, V any]",
		"near: type Source interface",
		"near: method (Leaser) ",
		"timingwheel: method (t *Timer) Stop() bool",
		"timingwheel: type Option func(*options)",
	} {
		if !slices.ContainsFunc(library, func(l string) bool { return strings.HasPrefix(l, line) }) {
			t.Errorf("not listed: %s", line)
		}
	}
	unexported := regexp.MustCompile(`internal/|method \([^()]*\) [a-z]`)
	if i := slices.IndexFunc(library, unexported.MatchString); i >= 0 {
		t.Errorf("listed: %s", library[i])
	}
}

// listing returns a line for each name that the packages of a module export.
func listing(t *testing.T, module string) (lines []string) {
	t.Helper()
	all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedModule, Dir: module}, "./...")
	settle.Must(t, err)
	for _, p := range all {
		for _, err := range p.Errors {
			t.Fatal(err)
		}
		if p.Name == "main" || strings.Contains(p.PkgPath+"/", "/internal/") || slices.Contains(unlisted, p.PkgPath) {
			continue
		}
		folder := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, p.Module.Path), "/")
		if folder == "" {
			folder = p.Name
		}
		for _, name := range p.Types.Scope().Names() {
			if o := p.Types.Scope().Lookup(name); o.Exported() {
				for _, line := range describe(o) {
					lines = append(lines, folder+": "+line)
				}
			}
		}
	}
	if slices.Sort(lines); len(lines) == 0 {
		t.Fatalf("%s exports nothing", module)
	}
	return lines
}

// describe returns the lines of a name: also its exported fields and methods, if it is a type.
func describe(o types.Object) (lines []string) {
	within := func(p *types.Package) string {
		if p == o.Pkg() {
			return ""
		}
		return p.Name()
	}
	switch o := o.(type) {
	case *types.Const:
		return []string{fmt.Sprintf("const %s %s = %s", o.Name(), types.TypeString(o.Type(), within), o.Val().ExactString())}
	case *types.TypeName:
		return describeType(o, within)
	}
	return []string{types.ObjectString(o, within)} // a function or variable
}

func describeType(o *types.TypeName, within types.Qualifier) (lines []string) {
	head := "type " + o.Name()
	named, ok := o.Type().(*types.Named)
	if !ok || o.IsAlias() {
		return []string{head + " = " + types.TypeString(o.Type(), within)}
	}
	if params := named.TypeParams(); params.Len() > 0 {
		var all []string
		for p := range params.TypeParams() {
			all = append(all, p.String()+" "+types.TypeString(p.Constraint(), within))
		}
		head += "[" + strings.Join(all, ", ") + "]"
	}
	switch u := named.Underlying().(type) {
	case *types.Struct:
		lines = append(lines, head+" struct")
		for field := range u.Fields() {
			if field.Exported() {
				lines = append(lines, fmt.Sprintf("field %s.%s %s", o.Name(), field.Name(), types.TypeString(field.Type(), within)))
			}
		}
	case *types.Interface:
		lines = append(lines, head+" interface")
		for method := range u.Methods() {
			if !method.Exported() {
				continue
			}
			lines = append(lines, fmt.Sprintf("method (%s) %s", o.Name(), signature(method, within)))
		}
	default:
		lines = append(lines, head+" "+types.TypeString(u, within))
	}
	for method := range named.Methods() {
		if method.Exported() {
			receiver := method.Signature().Recv()
			lines = append(lines, fmt.Sprintf("method (%s %s) %s", receiver.Name(), types.TypeString(receiver.Type(), within), signature(method, within)))
		}
	}
	return lines
}

func signature(method *types.Func, within types.Qualifier) string {
	return method.Name() + strings.TrimPrefix(types.TypeString(method.Signature(), within), "func")
}

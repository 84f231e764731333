package suites

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// adapters is the import path of the folder of the adapters.
const adapters = "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/"

// source returns the folder of the suite's files.
func (s suite) source() (string, error) {
	cmd := exec.Command("go", "env", "GOROOT")
	if s.module != "" {
		cmd = exec.Command("go", "list", "-m", "-f", "{{.Dir}}", s.module)
	}
	out, err := cmd.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		return "", fmt.Errorf("%v: no folder (%v); go mod download fetches the modules", cmd, err)
	}
	if s.module == "" {
		dir = filepath.Join(dir, "src")
	}
	return dir, nil
}

// adapted is a file of tests that uses an adapter.
type adapted struct {
	text      []byte
	functions []string // all that were in it
	tests     []string // the tests and examples that are left
	internal  int      // functions that use internals, and are blanked
}

// adapt makes a file of the suite's tests import adapters in place of the originals. It blanks
// benchmarks, which may use internals of the original, and tests that use them or that expected
// omits, and wraps others in a bubble. Line numbers stay the same.
func (s suite) adapt(name string, text []byte, expected expectations) (adapted, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		return adapted{}, err
	}
	a := adapted{text: bytes.Clone(text)}
	bubbles := false
	for _, decl := range slices.Backward(file.Decls) { // an edit moves what follows it
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		name := f.Name.Name
		a.functions = append(a.functions, name)
		if s.usesInternals(files, f, text) {
			a.internal++
			a.blank(files, f)
			continue
		}
		if v := expected[name]; v == omitted || v == slow && !*long || measures(f) {
			a.blank(files, f)
			continue
		}
		if expected[name] == bubble || expected[everyTest] == bubble && strings.HasPrefix(name, "Test") {
			bubbles = true
			a.wrap(files, f)
		}
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") {
			a.tests = append(a.tests, name)
		}
	}
	if bubbles {
		a.replace(files, file.Name.End(), file.Name.End(), `; import "testing/synctest"`)
	}
	return a, a.replaceImports(name, s.imports)
}

// usesInternals reports whether a function uses internals of the original.
func (s suite) usesInternals(files *token.FileSet, f *ast.FuncDecl, text []byte) bool {
	from, to := files.Position(f.Pos()).Offset, files.Position(f.End()).Offset
	return s.internals != nil && s.internals.Match(text[from:to])
}

// wrap makes a test run in a bubble, or each of its subtests: a bubble cannot have any. In a
// bubble t.Parallel would panic.
func (a *adapted) wrap(files *token.FileSet, f *ast.FuncDecl) {
	for _, body := range slices.Backward(bodies(f.Body)) {
		a.replace(files, body.Rbrace, body.End(), "}) }")
		for _, s := range body.List {
			if x, ok := s.(*ast.ExprStmt); ok && types.ExprString(x.X) == "t.Parallel()" {
				a.blank(files, s)
			}
		}
		a.replace(files, body.Lbrace, body.Lbrace+1, "{ synctest.Test(t, func(t *testing.T) {")
	}
}

// bodies returns those of the subtests in body that have none themselves, or body if there are none.
func bodies(body *ast.BlockStmt) (all []*ast.BlockStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || types.ExprString(call.Fun) != "t.Run" {
			return true
		}
		if test, ok := call.Args[1].(*ast.FuncLit); ok {
			all = append(all, bodies(test.Body)...)
		}
		return false
	})
	if all == nil {
		all = append(all, body)
	}
	return all
}

// measures reports whether a function is a benchmark, or is called by one.
func measures(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
		return types.ExprString(p.Type) == "*testing.B"
	})
}

// blank overwrites a node with spaces.
func (a *adapted) blank(files *token.FileSet, n ast.Node) {
	for i := files.Position(n.Pos()).Offset; i < files.Position(n.End()).Offset; i++ {
		if a.text[i] != '\n' {
			a.text[i] = ' '
		}
	}
}

// replace replaces the text between two positions.
func (a *adapted) replace(files *token.FileSet, from, to token.Pos, text string) {
	a.text = slices.Replace(a.text, files.Position(from).Offset, files.Position(to).Offset, []byte(text)...)
}

// replaceImports blanks the imports that nothing uses any more, and replaces originals by
// their adapters, under the same names.
func (a *adapted) replaceImports(name string, imports map[string]string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, a.text, parser.ParseComments)
	if err != nil {
		return err
	}
	used := map[string]bool{".": true, "_": true}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, spec := range slices.Backward(file.Imports) {
		original, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		as := packageName(original)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if !used[as] {
			a.blank(files, spec)
		} else if adapter, ok := imports[original]; ok {
			a.replace(files, spec.Pos(), spec.End(), fmt.Sprintf("%s %q", as, adapters+adapter))
		}
	}
	return nil
}

// packageName derives the name of a package from its import path.
func packageName(of string) string {
	if base := path.Base(of); !majorVersion.MatchString(base) {
		return base
	}
	return path.Base(path.Dir(of))
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

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
	"slices"
	"strconv"
	"strings"
)

// adapters is the import path of the folder of the adapters.
const adapters = "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/"

// source returns the folder that the files of the suite are relative to.
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
	text    []byte
	tests   []string // the tests and examples in it
	omitted []string // those of the names to be left out that were in it
}

// adapt has a file of tests import adapters in place of what they stand for, and
// leaves out benchmarks, which may look into the original, and the functions named.
// Lines keep their numbers.
func adapt(name string, text []byte, imports map[string]string, omit []string) (adapted, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		return adapted{}, err
	}
	a := adapted{text: bytes.Clone(text)}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		switch name := f.Name.Name; {
		case slices.Contains(omit, name):
			a.omitted = append(a.omitted, name)
			a.blank(files, f)
		case measures(f):
			a.blank(files, f)
		case strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example"):
			a.tests = append(a.tests, name)
		}
	}
	return a, a.replaceImports(name, imports)
}

// measures reports whether a function is a benchmark, or what one calls.
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

// replaceImports leaves out the imports that nothing uses any more, and has the others
// import adapters under the names that they had.
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
	for _, spec := range slices.Backward(file.Imports) { // the edits move what is behind them
		original, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		as := path.Base(original)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if !used[as] {
			a.blank(files, spec)
		} else if adapter, ok := imports[original]; ok {
			from, to := files.Position(spec.Pos()).Offset, files.Position(spec.End()).Offset
			a.text = slices.Replace(a.text, from, to, fmt.Appendf(nil, "%s %q", as, adapters+adapter)...)
		}
	}
	return nil
}

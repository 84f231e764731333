package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A testFile is a file of tests, by the names that it declares and uses.
type testFile struct {
	path           string
	declares, uses map[string]bool
}

// unneeded returns the test files of a folder that a test does not need. Compiling and linking
// all of them, with their imports, would take ten times as long as the rest. It compares
// names only, so it may keep some that are not needed.
func unneeded(dir, run string) ([]string, error) {
	pattern, err := regexp.Compile(strings.Split(run, "/")[0])
	if err != nil {
		return nil, err
	}
	files, err := testFiles(dir)
	if err != nil {
		return nil, err
	}
	var needed, rest []testFile
	for _, f := range files {
		if f.declaresOne(func(name string) bool { return name == "TestMain" || isTest(name) && pattern.MatchString(name) }) {
			needed = append(needed, f)
		} else {
			rest = append(rest, f)
		}
	}
	for i := 0; i < len(needed); i++ { // it grows
		rest = slices.DeleteFunc(rest, func(f testFile) bool {
			used := f.declaresOne(func(name string) bool { return needed[i].uses[name] })
			if used {
				needed = append(needed, f)
			}
			return used
		})
	}
	var paths []string
	for _, f := range rest {
		paths = append(paths, f.path)
	}
	return paths, nil
}

func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example")
}

func (f testFile) declaresOne(is func(name string) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(f.declares)), is)
}

func testFiles(dir string) ([]testFile, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	var files []testFile
	for _, path := range paths {
		source, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, testFile{path: path, declares: declaredIn(source), uses: usedIn(source)})
	}
	return files, nil
}

// usedIn returns the names that a file uses and does not declare, and those that it selects,
// with a dot before them.
func usedIn(source *ast.File) map[string]bool {
	uses := map[string]bool{}
	for _, name := range source.Unresolved {
		uses[name.Name] = true
	}
	ast.Inspect(source, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			uses["."+s.Sel.Name] = true
			if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name+"_test" == source.Name.Name {
				uses[s.Sel.Name] = true // of the package under test, perhaps only for tests
			}
		}
		return true
	})
	return uses
}

// declaredIn returns the names that a file declares, and the methods that it adds to types of
// other files, with a dot before them.
func declaredIn(source *ast.File) map[string]bool {
	declares := map[string]bool{}
	for name := range source.Scope.Objects {
		declares[name] = true
	}
	for _, d := range source.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			if typ, method, _ := strings.Cut(nameOf(f), "."); !declares[typ] {
				declares["."+method] = true
			}
		}
	}
	return declares
}

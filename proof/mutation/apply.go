package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// An edit replaces the bytes of a source file from start to end.
type edit struct {
	path       string // from the root of the repository
	start, end int
	text       string
}

// edit returns what the mutation changes. It is an error if the function does not have the text
// exactly once: then the list no longer says what is meant.
func (m mutation) edit(root string) (edit, error) {
	dir := filepath.Join(root, m.folder)
	pkg, err := build.ImportDir(dir, 0) // its files by name and build tags
	if err != nil {
		return edit{}, err
	}
	for _, name := range pkg.GoFiles {
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return edit{}, err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err != nil {
			return edit{}, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && nameOf(f) == m.function {
				start := files.Position(f.Pos()).Offset
				return m.editIn(path.Join(m.folder, name), start, string(source[start:files.Position(f.End()).Offset]))
			}
		}
	}
	return edit{}, fmt.Errorf("%s has no function %s", dir, m.function)
}

// editIn is edit once the function is found: its source, and where it starts.
func (m mutation) editIn(file string, start int, function string) (edit, error) {
	if n := strings.Count(function, m.old); n != 1 {
		return edit{}, fmt.Errorf("%s has the text %d times, want once: %s", m.function, n, m.old)
	}
	start += strings.Index(function, m.old)
	return edit{file, start, start + len(m.old), m.new}, nil
}

// nameOf returns the name of a function, and that of its receiver's type before it.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch typed := t.(type) {
		case *ast.StarExpr:
			t = typed.X
		case *ast.IndexExpr: // of one type parameter
			t = typed.X
		case *ast.IndexListExpr:
			t = typed.X
		case *ast.Ident:
			return typed.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

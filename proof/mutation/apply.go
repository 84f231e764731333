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
	if m.made != nil {
		return *m.made, nil
	}
	name, source, start, end, err := find(filepath.Join(root, m.folder), m.function)
	if err != nil {
		return edit{}, err
	}
	if n := strings.Count(source[start:end], m.old); n != 1 {
		return edit{}, fmt.Errorf("%s has the text %d times, want once: %s", m.function, n, m.old)
	}
	start += strings.Index(source[start:end], m.old)
	return edit{path.Join(m.folder, name), start, start + len(m.old), m.new}, nil
}

// find returns the file of a folder that declares a function, its source, and where the function
// begins and ends.
func find(dir, function string) (name, source string, start, end int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", "", 0, 0, err
	}
	for _, entry := range entries {
		here, _ := build.Default.MatchFile(dir, entry.Name()) // by its name and build tags
		if !here || !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", "", 0, 0, err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, entry.Name(), source, parser.SkipObjectResolution)
		if err != nil {
			return "", "", 0, 0, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && nameOf(f) == function {
				return entry.Name(), string(source), files.Position(f.Pos()).Offset, files.Position(f.End()).Offset, nil
			}
		}
	}
	return "", "", 0, 0, fmt.Errorf("%s has no function %s", dir, function)
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

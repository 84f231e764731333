package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// apply returns the source with the line changed. It is an error if the function
// does not have the line exactly once: then the list no longer says what is meant.
func (m mutation) apply(source []byte) ([]byte, error) {
	first, last, err := m.find(source)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(source), "\n")
	at := -1
	for i := first - 1; i < last; i++ {
		if strings.TrimSpace(lines[i]) != m.old || m.line > 0 && m.line != i+1 {
			continue
		}
		if at >= 0 {
			return nil, fmt.Errorf("%s has the line more than once: %s", m.function, m.old)
		}
		at = i
	}
	if at < 0 {
		return nil, fmt.Errorf("%s does not have the line: %s", m.function, m.old)
	}
	lines[at] = m.new + "\n"
	return []byte(strings.Join(lines, "")), nil
}

// find returns the first and the last line of the function, counted from 1.
func (m mutation) find(source []byte) (first, last int, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, m.file, source, parser.SkipObjectResolution)
	if err != nil {
		return 0, 0, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && nameOf(f) == m.function {
			return files.Position(f.Pos()).Line, files.Position(f.End()).Line, nil
		}
	}
	return 0, 0, fmt.Errorf("%s has no function %s", m.file, m.function)
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

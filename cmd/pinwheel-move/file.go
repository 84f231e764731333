package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// A file is a Go file and what is to change in it.
type file struct {
	path     string
	pkg      *packages.Package
	syntax   *ast.File
	src      []byte
	edits    []edit
	comments []comment
	changed  int // calls and types that moved
	left     int // comments
}

// An edit replaces a piece of a file, if its unit moves.
type edit struct {
	unit     *unit
	from, to int
	text     string
	imports  string // a package that text needs
	helper   string // a function that text calls
	counts   bool   // as a change of the summary
}

// A comment says at a line why its unit stays.
type comment struct {
	unit *unit
	at   int // where the statement or declaration begins
	text string
}

func newFile(path string, pkg *packages.Package, syntax *ast.File) *file {
	src, err := os.ReadFile(path)
	if err != nil {
		panic(err) // it was just compiled
	}
	return &file{path: path, pkg: pkg, syntax: syntax, src: src}
}

func (f *file) fset() *token.FileSet { return f.pkg.Fset }

func (f *file) offset(p token.Pos) int { return f.fset().PositionFor(p, false).Offset }

// replace replaces what is between two positions.
func (f *file) replace(u *unit, from, to token.Pos, text string) *edit {
	f.edits = append(f.edits, edit{unit: u, from: f.offset(from), to: f.offset(to), text: text})
	return &f.edits[len(f.edits)-1]
}

// covered reports whether an edit replaces a node.
func (f *file) covered(n ast.Node) bool {
	from, to := f.offset(n.Pos()), f.offset(n.End())
	return slices.ContainsFunc(f.edits, func(e edit) bool { return e.from <= from && to <= e.to && from < to })
}

// stay has a unit stay, with a comment at the statement or declaration around a node.
func (f *file) stay(u *unit, n ast.Node, stack []ast.Node, why string) {
	u.top().stays = true
	at := n.Pos()
	if stack == nil {
		stack, _ = astutil.PathEnclosingInterval(f.syntax, n.Pos(), n.End())
		slices.Reverse(stack)
	}
	for i := len(stack) - 1; i >= 0; i-- {
		switch parent := stack[i].(type) {
		case ast.Stmt, ast.Spec, *ast.Field, *ast.FuncDecl:
			at = parent.Pos()
		case *ast.GenDecl:
			if !parent.Lparen.IsValid() {
				at = parent.Pos()
			}
			goto found
		default:
			continue
		}
		if i == 0 {
			break
		}
		switch stack[i-1].(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.FieldList, *ast.File:
			goto found
		}
	}
found:
	f.comments = append(f.comments, comment{u, f.offset(at), why})
}

// stayAtImport has a unit stay, with a comment at the import of its library.
func (f *file) stayAtImport(u *unit, why string) {
	for _, spec := range f.syntax.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p == u.lib.path {
			f.stay(u, spec, nil, why)
		}
	}
}

// cacheName returns the name under which the file, or a new one of its package, imports
// pinwheel's cache: it must not be taken.
func (f *file) cacheName() string {
	taken := map[string]bool{}
	for _, name := range f.pkg.Types.Scope().Names() {
		taken[name] = true
	}
	for id, object := range f.pkg.TypesInfo.Defs {
		if v, ok := object.(*types.Var); (!ok || !v.IsField()) && f.fset().Position(id.Pos()).Filename == f.path {
			taken[id.Name] = true
		}
	}
	moves := map[string]bool{}
	for _, e := range f.edits {
		if !e.unit.top().stays {
			moves[e.unit.lib.path] = true
		}
	}
	for _, spec := range f.syntax.Imports {
		name := f.pkg.TypesInfo.PkgNameOf(spec)
		if name != nil && !moves[name.Imported().Path()] {
			taken[name.Name()] = true
		}
	}
	for _, name := range []string{"cache", "pinwheel", "pinwheelcache"} {
		if !taken[name] {
			return name
		}
	}
	return "pinwheelcache1"
}

// text returns the file as it will be, or nil if it stays as it is.
func (f *file) text(helpers map[string]*helperFile) []byte {
	f.changed, f.left = 0, 0
	edits, imports := f.effective(helpers)
	if len(edits) == 0 {
		return nil
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	name := f.cacheName()
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(f.src[at:e.from])
		out.WriteString(strings.ReplaceAll(e.text, "§", name+"."))
		at = e.to
	}
	out.Write(f.src[at:])
	return f.withImports(out.Bytes(), imports, name)
}

// effective returns the edits of units that move, those that write comments, and the packages
// that they need.
func (f *file) effective(helpers map[string]*helperFile) (edits []edit, imports map[string]bool) {
	imports = map[string]bool{}
	for _, e := range f.edits {
		if e.unit.top().stays {
			continue
		}
		edits = append(edits, e)
		if e.counts {
			f.changed++
		}
		if e.imports != "" {
			imports[e.imports] = true
		}
		if strings.Contains(e.text, "§") {
			imports[pinwheel] = true
		}
		if e.helper != "" {
			helperFileOf(f, helpers).add(e.helper)
		}
	}
	comments := f.comments
	for _, spec := range f.syntax.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		lib := libraries[p]
		if lib == nil {
			continue
		}
		if u := f.unitOf(lib); u != nil && u.top().broken != "" {
			comments = append(slices.Clip(comments), comment{u, f.offset(spec.Pos()), "this does not compile when it has moved: " + u.top().broken})
		}
	}
	for _, c := range comments {
		if !c.unit.top().stays {
			continue
		}
		start := bytes.LastIndexByte(f.src[:c.at], '\n') + 1
		line := f.src[start:c.at]
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		text := fmt.Sprintf("%s// pinwheel-move: %s\n", indent, strings.Join(strings.Fields(c.text), " "))
		there := slices.ContainsFunc(edits, func(e edit) bool { return e.from == start && e.text == text })
		if there || bytes.HasSuffix(f.src[:start], []byte(text)) {
			continue
		}
		edits = append(edits, edit{unit: c.unit, from: start, to: start, text: text})
		f.left++
	}
	return edits, imports
}

// unitOf returns the unit of a library to which the edits of the file belong, if there are any.
func (f *file) unitOf(lib *library) *unit {
	for _, e := range f.edits {
		if e.unit.lib == lib {
			return e.unit
		}
	}
	return nil
}

// withImports removes the imports that are no longer used from a text and adds others.
func (f *file) withImports(text []byte, imports map[string]bool, name string) []byte {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, f.path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return text // revert says so
	}
	used := map[string]bool{}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, spec := range f.syntax.Imports {
		imported := f.pkg.TypesInfo.PkgNameOf(spec)
		if imported == nil || imported.Name() == "_" || imported.Name() == "." {
			continue
		}
		p := imported.Imported().Path()
		u := f.unitOf(libraries[p])
		goes := u != nil && libraries[p].dropIn == "" && !u.top().stays
		if goes && imports[pinwheel] {
			renameImport(syntax, p, name)
			delete(imports, pinwheel)
		} else if goes || !used[imported.Name()] && f.uses(imported) {
			written := ""
			if spec.Name != nil {
				written = spec.Name.Name
			}
			astutil.DeleteNamedImport(fset, syntax, written, p)
		}
	}
	for p := range imports {
		if p == pinwheel && name != path.Base(p) {
			astutil.AddNamedImport(fset, syntax, name, p)
		} else {
			astutil.AddImport(fset, syntax, p)
		}
	}
	ast.SortImports(fset, syntax)
	var out bytes.Buffer
	if err := format.Node(&out, fset, syntax); err != nil {
		return text
	}
	return out.Bytes()
}

// renameImport has a library's import be that of pinwheel's cache, at the same place.
func renameImport(syntax *ast.File, old, name string) {
	for _, spec := range syntax.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p == old {
			spec.Path.Value, spec.Name = strconv.Quote(pinwheel), nil
			if name != path.Base(pinwheel) {
				spec.Name = ast.NewIdent(name)
			}
			return
		}
	}
}

// uses reports whether the file used an import.
func (f *file) uses(name *types.PkgName) bool {
	for _, object := range f.pkg.TypesInfo.Uses {
		if object == name {
			return true
		}
	}
	return false
}

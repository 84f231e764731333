package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// pinwheel is the package that programs move to.
const pinwheel = "github.com/pinwheel-cache/pinwheel/cache"

// moved is what a run makes of a program.
type moved struct {
	dir   string
	files map[string]*file  // by path
	texts map[string][]byte // of the files that change, and of new ones
}

// move moves the packages that patterns name. What does not compile afterwards stays as it
// was, with a comment.
func move(dir string, patterns []string) (*moved, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	pkgs, err := load(abs, patterns, nil)
	if err != nil {
		return nil, err
	}
	if err := firstError(pkgs); err != nil {
		return nil, fmt.Errorf("the program must compile first: %w", err)
	}
	p := newProgram(pkgs)
	p.find()
	for {
		m := &moved{abs, p.files, p.texts()}
		if len(m.texts) == 0 {
			return m, nil
		}
		after, err := load(abs, patterns, m.texts)
		if err != nil {
			return nil, err
		}
		if !p.revert(after) {
			return m, firstError(after)
		}
	}
}

// load loads packages with their tests.
func load(dir string, patterns []string, overlay map[string][]byte) ([]*packages.Package, error) {
	pkgs, err := packages.Load(&packages.Config{
		Mode:    packages.LoadSyntax | packages.NeedModule,
		Dir:     dir,
		Tests:   true,
		Overlay: overlay,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", strings.Join(patterns, " "), err)
	}
	return pkgs, nil
}

// missing reports whether a package of pinwheel cannot be had.
func missing(e packages.Error) bool {
	return strings.Contains(e.Msg, "import "+path.Dir(pinwheel)) || strings.Contains(e.Msg, "package "+path.Dir(pinwheel))
}

// firstError returns what is wrong with packages, if anything is.
func firstError(pkgs []*packages.Package) error {
	for _, p := range pkgs {
		if len(p.Errors) == 0 {
			continue
		}
		e := p.Errors[0]
		if missing(e) {
			return errors.New("the module lacks a package of pinwheel; first: go get " + pinwheel + ", or " + goZero.dropIn)
		}
		return fmt.Errorf("%s: %s", e.Pos, e.Msg)
	}
	return nil
}

// A program is the packages to move.
type program struct {
	files map[string]*file
	units map[unitKey]*unit
	own   map[string]bool // the paths of the packages
}

// A unit is what a package, or some that pass caches to each other, do with one library. It
// moves as a whole or stays.
type unit struct {
	lib    *library
	joined *unit  // of which it is a part
	stays  bool   // something in it cannot move
	broken string // what the compiler said of it when it had moved
	traits
}

type unitKey struct {
	lib *library
	pkg string
}

func (u *unit) top() *unit {
	for u.joined != nil {
		u = u.joined
	}
	return u
}

func newProgram(pkgs []*packages.Package) *program {
	p := &program{map[string]*file{}, map[unitKey]*unit{}, map[string]bool{}}
	// A package with its tests has more files than without.
	for _, pkg := range pkgs {
		p.own[pkg.PkgPath] = true
		for i, syntax := range pkg.Syntax {
			path := pkg.CompiledGoFiles[i]
			if f := p.files[path]; f != nil && len(f.pkg.Syntax) >= len(pkg.Syntax) {
				continue
			}
			// What is made anew, by cgo or a generator, is not to be changed.
			if ast.IsGenerated(syntax) || !slices.Contains(pkg.GoFiles, path) {
				for _, lib := range imported(syntax) {
					p.unit(lib, pkg.PkgPath).stays = true
				}
				continue
			}
			p.files[path] = newFile(path, pkg, syntax)
		}
	}
	return p
}

// imported returns the libraries that a file imports.
func imported(f *ast.File) (libs []*library) {
	for _, spec := range f.Imports {
		used, _ := strconv.Unquote(spec.Path.Value)
		if lib := libraries[used]; lib != nil {
			libs = append(libs, lib)
		}
	}
	return libs
}

// unit returns the unit of a library and a package.
func (p *program) unit(lib *library, pkg string) *unit {
	key := unitKey{lib, pkg}
	if p.units[key] == nil {
		p.units[key] = &unit{lib: lib}
	}
	return p.units[key].top()
}

// find finds all that is to change. The constructors come first: what a method means may
// depend on them.
func (p *program) find() {
	for _, f := range p.files {
		p.join(f)
	}
	for _, f := range p.files {
		p.leftOut(f)
		f.visit(p, true)
	}
	for _, f := range p.files {
		f.visit(p, false)
	}
}

// join joins the units of packages one of which names what another declares with a library's
// type.
func (p *program) join(f *file) {
	for id, object := range f.pkg.TypesInfo.Uses {
		if object.Pkg() == nil || object.Pkg().Path() == f.pkg.PkgPath || libraries[object.Pkg().Path()] != nil {
			continue
		}
		if f.fset().Position(id.Pos()).Filename != f.path {
			continue
		}
		for _, lib := range mentioned(object) {
			u := p.unit(lib, f.pkg.PkgPath)
			if !p.own[object.Pkg().Path()] {
				f.stay(u, id, nil, object.Pkg().Path()+" is not moved, and has this type in "+object.Name())
				continue
			}
			if other := p.unit(lib, object.Pkg().Path()); other != u {
				other.joined = u
				u.stays = u.stays || other.stays
			}
		}
	}
}

// leftOut keeps a package as it is if a file for another system or with another tag uses the
// library.
func (p *program) leftOut(f *file) {
	for _, path := range f.pkg.IgnoredFiles {
		syntax, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			continue
		}
		for _, lib := range imported(syntax) {
			f.stayAtImport(p.unit(lib, f.pkg.PkgPath), filepath.Base(path)+", which this build leaves out, uses it too")
		}
	}
}

// revert has the units stay which do not compile, or all if the errors are in packages without
// one, and reports whether there is one.
func (p *program) revert(after []*packages.Package) bool {
	found, wrong := false, ""
	for _, pkg := range after {
		for _, e := range pkg.Errors {
			if missing(e) {
				return false
			}
			wrong = e.Msg
			found = p.keep(func(key unitKey) bool { return key.pkg == pkg.PkgPath }, e.Msg) || found
		}
	}
	if wrong != "" && !found {
		found = p.keep(func(unitKey) bool { return true }, wrong)
	}
	return found
}

// keep has units stay that would move, and reports whether there is one.
func (p *program) keep(these func(unitKey) bool, why string) bool {
	found := false
	for key, u := range p.units {
		if top := u.top(); these(key) && !top.stays {
			top.stays, top.broken, found = true, why, true
		}
	}
	return found
}

// texts returns what the files become.
func (p *program) texts() map[string][]byte {
	texts := map[string][]byte{}
	helpers := map[string]*helperFile{}
	for path, f := range p.files {
		if text := f.text(helpers); text != nil {
			texts[path] = text
		}
	}
	for path, h := range helpers {
		texts[path] = h.text()
	}
	return texts
}

// mentioned returns the libraries of whose types the type of an object is made.
func mentioned(object types.Object) []*library {
	var libs []*library
	seen := map[types.Type]bool{}
	var walk func(types.Type, int)
	walk = func(t types.Type, depth int) {
		if t == nil || seen[t] || depth > 4 {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Alias:
			walk(types.Unalias(t), depth)
		case *types.Named:
			if pkg := t.Obj().Pkg(); pkg != nil {
				if lib := libraries[pkg.Path()]; lib != nil && lib.becomes[t.Obj().Name()] != nil {
					libs = append(libs, lib)
				}
			}
			for i := range t.TypeArgs().Len() {
				walk(t.TypeArgs().At(i), depth+1)
			}
		case *types.Pointer:
			walk(t.Elem(), depth+1)
		case *types.Slice:
			walk(t.Elem(), depth+1)
		case *types.Array:
			walk(t.Elem(), depth+1)
		case *types.Chan:
			walk(t.Elem(), depth+1)
		case *types.Map:
			walk(t.Key(), depth+1)
			walk(t.Elem(), depth+1)
		case *types.Signature:
			walk(t.Params(), depth+1)
			walk(t.Results(), depth+1)
		case *types.Tuple:
			for i := range t.Len() {
				walk(t.At(i).Type(), depth+1)
			}
		case *types.Struct:
			for i := range t.NumFields() {
				walk(t.Field(i).Type(), depth+1)
			}
		}
	}
	walk(object.Type(), 0)
	return libs
}

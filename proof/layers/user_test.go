package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/pinwheel-cache/pinwheel/"

// A program is a user of the whole API, as source text: it calls each exported function and method,
// and each argument, field or element that may be a function is one of its own, which is named after it.
type program struct {
	imports map[string]string // path by name
	text    strings.Builder
	made    map[string]bool
}

// userOf returns the syntax and types of a program that uses the public packages among pkgs.
func userOf(t *testing.T, pkgs []*packages.Package) *packages.Package {
	t.Helper()
	p := &program{imports: map[string]string{}, made: map[string]bool{}}
	for _, pkg := range pkgs {
		if !strings.Contains(pkg.PkgPath, "/internal/") && pkg.Name != "main" && pkg.Name != "ring" {
			for _, name := range pkg.Types.Scope().Names() {
				p.use(pkg.Types.Scope().Lookup(name))
			}
		}
	}
	text := "package user\n"
	for _, name := range slices.Sorted(maps.Keys(p.imports)) {
		text += fmt.Sprintf("import %s %q\n", name, p.imports[name])
	}
	text += p.text.String()
	fset := pkgs[0].Fset
	file, err := parser.ParseFile(fset, "user.go", text, 0)
	if err != nil {
		t.Fatal(err, text)
	}
	u := &packages.Package{PkgPath: "user", Fset: fset, Syntax: []*ast.File{file}, TypesInfo: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}}
	all := importer{}
	for _, pkg := range pkgs {
		all.add(pkg.Types)
	}
	u.Types, err = (&types.Config{Importer: all}).Check("user", fset, u.Syntax, u.TypesInfo)
	if err != nil {
		t.Fatal(err, text)
	}
	return u
}

// An importer has packages that are loaded.
type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) { return i[path], nil }

func (i importer) add(pkg *types.Package) {
	if i[pkg.Path()] == nil {
		i[pkg.Path()] = pkg
		for _, imported := range pkg.Imports() {
			i.add(imported)
		}
	}
}

// use calls an exported function, or the methods of a type.
func (p *program) use(obj types.Object) {
	if !obj.Exported() {
		return
	}
	name := obj.Pkg().Name() + "." + obj.Name()
	switch obj := obj.(type) {
	case *types.Func:
		sig := obj.Signature()
		args := arguments(sig.TypeParams())
		f := name
		p.imports[obj.Pkg().Name()] = obj.Pkg().Path()
		if len(args) > 0 {
			var texts []string
			for _, a := range args {
				texts = append(texts, p.write(a))
			}
			f += "[" + strings.Join(texts, ", ") + "]"
			inst, _ := types.Instantiate(nil, sig, args, false)
			sig = inst.(*types.Signature)
		}
		p.call(f, sig, name)
	case *types.TypeName:
		named, ok := obj.Type().(*types.Named)
		if !ok || obj.IsAlias() || types.IsInterface(named) {
			return
		}
		if args := arguments(named.TypeParams()); len(args) > 0 {
			inst, _ := types.Instantiate(nil, named, args, false)
			named = inst.(*types.Named)
		}
		pointer := types.NewPointer(named)
		for m := range types.NewMethodSet(pointer).Methods() {
			if m.Obj().Exported() {
				p.call(fmt.Sprintf("(*new(%s)).%s", p.write(pointer), m.Obj().Name()), m.Type().(*types.Signature), name+"."+m.Obj().Name())
			}
		}
		p.value(named, name, 0) // with its fields
	}
}

// arguments returns types for type parameters.
func arguments(params *types.TypeParamList) (args []types.Type) {
	for param := range params.TypeParams() {
		for _, t := range []types.Type{types.Typ[types.String], types.Typ[types.Int64], types.NewSlice(types.Typ[types.Byte])} {
			if types.Satisfies(t, param.Constraint().Underlying().(*types.Interface)) {
				args = append(args, t)
				break
			}
		}
	}
	return args
}

// call calls a function, and what it returns if that is a function.
func (p *program) call(f string, sig *types.Signature, name string) {
	var args, results []string
	for param := range sig.Params().Variables() {
		args = append(args, p.value(param.Type(), name+"."+param.Name(), 0))
	}
	call := f + "(" + strings.Join(args, ", ")
	if sig.Variadic() {
		call += "..."
	}
	call += ")"
	if sig.Results().Len() > 0 {
		then := ""
		for i := range sig.Results().Len() {
			results = append(results, fmt.Sprint("r", i))
			then += fmt.Sprintf("; _ = r%d", i)
			if r, ok := sig.Results().At(i).Type().Underlying().(*types.Signature); ok && nameable(p.write(r)) {
				then += fmt.Sprintf("\n\tr%d(%s)", i, p.value(r.Params(), name, 0))
			}
		}
		call = strings.Join(results, ", ") + " := " + call + then
	}
	fmt.Fprintf(&p.text, "func use%d() {\n\t%s\n}\n", p.text.Len(), call)
}

// value returns an expression of a type, with functions of the user in it.
func (p *program) value(t types.Type, name string, depth int) string {
	text := p.write(t)
	switch u := t.Underlying().(type) {
	case *types.Tuple:
		var values []string
		for v := range u.Variables() {
			values = append(values, p.value(v.Type(), name+"."+v.Name(), depth))
		}
		return strings.Join(values, ", ")
	case *types.Signature:
		if nameable(p.write(u)) {
			return p.function(u, name)
		}
	case *types.Slice:
		return text + "{" + p.value(u.Elem(), name, depth+1) + "}"
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Struct); ok && depth < 3 {
			return "&" + p.value(u.Elem(), name, depth+1)
		}
	case *types.Struct:
		if named, ok := t.(*types.Named); ok && strings.HasPrefix(named.Obj().Pkg().Path(), module) && depth < 3 {
			name = named.Obj().Pkg().Name() + "." + named.Obj().Name()
			text += "{"
			for f := range u.Fields() {
				if f.Exported() {
					text += f.Name() + ": " + p.value(f.Type(), name+"."+f.Name(), depth+1) + ", "
				}
			}
			return text + "}"
		}
	}
	return "*new(" + text + ")"
}

// function returns the name of a function of the user, which it writes.
func (p *program) function(sig *types.Signature, name string) string {
	name = strings.ReplaceAll(name, ".", "_")
	if !p.made[name] {
		p.made[name] = true
		var params, results []string
		for v := range sig.Params().Variables() {
			params = append(params, p.write(v.Type()))
		}
		for v := range sig.Results().Variables() {
			results = append(results, "_ "+p.write(v.Type()))
		}
		fmt.Fprintf(&p.text, "func %s(%s) (%s) { panic(0) }\n", name, strings.Join(params, ", "), strings.Join(results, ", "))
	}
	return name
}

// write returns the text of a type.
func (p *program) write(t types.Type) string {
	return types.TypeString(t, func(pkg *types.Package) string {
		p.imports[pkg.Name()] = pkg.Path()
		return pkg.Name()
	})
}

var unexported = regexp.MustCompile(`\.[a-z]`)

func nameable(text string) bool { return !unexported.MatchString(strings.ReplaceAll(text, "...", "")) }

package layers

import (
	"fmt"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/pinwheel-cache/pinwheel/"

// A program is a user of the whole API, as source text: it calls each exported function and method.
// Each argument, field, element or result that is a function is one of its own, which is named after
// it, and each that is an interface is of a type of its own, named after the interface.
type program struct {
	imports map[string]string // path by name
	text    strings.Builder
	made    map[string]bool
	given   map[string]bool // interfaces, and structs of other modules
}

// userOf returns a program that uses the public packages among pkgs.
func userOf(pkgs []*packages.Package) *program {
	p := &program{imports: map[string]string{}, made: map[string]bool{}, given: map[string]bool{}}
	for _, pkg := range pkgs {
		if public(pkg.Types) && pkg.Name != "ring" {
			for _, name := range pkg.Types.Scope().Names() {
				p.use(pkg.Types.Scope().Lookup(name))
			}
		}
	}
	return p
}

func (p *program) source() []byte {
	text := "package user\n"
	for name, path := range p.imports {
		text += fmt.Sprintf("import %s %q\n", name, path)
	}
	return []byte(text + p.text.String())
}

// public reports whether other programs may import a package.
func public(pkg *types.Package) bool {
	return pkg != nil && strings.HasPrefix(pkg.Path(), module) && !strings.Contains(pkg.Path(), "/internal/")
}

// use calls an exported function, or the methods of a type.
func (p *program) use(obj types.Object) {
	if !obj.Exported() {
		return
	}
	name := obj.Pkg().Name() + "." + obj.Name()
	switch obj := obj.(type) {
	case *types.Func:
		f, args := p.qualifier(obj.Pkg())+"."+obj.Name(), []string(nil)
		sig := instantiate(obj.Signature(), obj.Signature().TypeParams(), func(arg types.Type) { args = append(args, p.write(arg)) }).(*types.Signature)
		if args != nil {
			f += "[" + strings.Join(args, ", ") + "]"
		}
		p.call(f, sig, name)
	case *types.TypeName:
		named, ok := obj.Type().(*types.Named)
		if !ok || types.IsInterface(named) {
			return
		}
		named = instantiate(named, named.TypeParams(), func(types.Type) {}).(*types.Named)
		pointer := types.NewPointer(named)
		for m := range types.NewMethodSet(pointer).Methods() {
			if m.Obj().Exported() {
				p.call(fmt.Sprintf("(*new(%s)).%s", p.write(pointer), m.Obj().Name()), m.Type().(*types.Signature), name+"."+m.Obj().Name())
			}
		}
		p.value(named, name, 0) // with its fields
	}
}

// instantiate returns a type with arguments for its parameters, which it tells.
func instantiate(t types.Type, params *types.TypeParamList, tell func(arg types.Type)) types.Type {
	var args []types.Type
	for param := range params.TypeParams() {
		constraint := param.Constraint().Underlying().(*types.Interface)
		candidates := []types.Type{types.Typ[types.String], types.Typ[types.Int64], types.NewSlice(types.Typ[types.Byte])}
		for embedded := range constraint.EmbeddedTypes() {
			if union, ok := embedded.(*types.Union); ok {
				candidates = append(candidates, union.Term(0).Type())
			}
		}
		for _, arg := range candidates {
			if types.Satisfies(arg, constraint) {
				args = append(args, arg)
				tell(arg)
				break
			}
		}
	}
	if args != nil {
		t, _ = types.Instantiate(nil, t, args, false)
	}
	return t
}

// call calls a function, and what it returns if that is a function.
func (p *program) call(f string, sig *types.Signature, name string) {
	f += "(" + p.values(sig.Params(), name, 0)
	if sig.Variadic() {
		f += "..."
	}
	f += ")"
	if sig.Results().Len() == 1 {
		if r, ok := sig.Results().At(0).Type().Underlying().(*types.Signature); ok && nameable(p.write(r)) {
			f += "(" + p.values(r.Params(), name, 0) + ")"
		}
	}
	fmt.Fprintf(&p.text, "func use%d() { %s }\n", p.text.Len(), f)
}

func (p *program) values(all *types.Tuple, name string, depth int) string {
	var values []string
	for v := range all.Variables() {
		values = append(values, p.value(v.Type(), strings.TrimSuffix(name+"."+v.Name(), "."), depth))
	}
	return strings.Join(values, ", ")
}

// value returns an expression of a type, with functions and types of the user in it.
func (p *program) value(t types.Type, name string, depth int) string {
	text := p.write(t)
	named, _ := types.Unalias(t).(*types.Named)
	switch u := t.Underlying().(type) {
	case *types.Signature:
		if nameable(p.write(u)) {
			return p.function(u, name)
		}
	case *types.Interface:
		if named != nil && u.NumMethods() > 0 && nameable(text) {
			p.given[types.TypeString(t, nil)] = true
			return p.implement(named) + "{}"
		}
	case *types.Slice:
		return text + "{" + p.value(u.Elem(), name, depth+1) + "}"
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Struct); ok && depth < 3 {
			return "&" + p.value(u.Elem(), name, depth+1)
		}
	case *types.Struct:
		if named == nil || depth >= 3 {
			break
		}
		if !strings.HasPrefix(named.Obj().Pkg().Path(), module) {
			p.given[types.TypeString(t, nil)] = strings.Contains(u.String(), " func(")
			break
		}
		text += "{"
		for f := range u.Fields() {
			if f.Exported() {
				text += f.Name() + ": " + p.value(f.Type(), named.Obj().Pkg().Name()+"."+named.Obj().Name()+"."+f.Name(), depth+1) + ", "
			}
		}
		return text + "}"
	}
	return "*new(" + text + ")"
}

// function returns the name of a function of the user, which it writes.
func (p *program) function(sig *types.Signature, name string) string {
	name = mangle(name)
	if !p.made[name] {
		p.made[name] = true
		var params, results []string
		for v := range sig.Params().Variables() {
			params = append(params, p.write(v.Type()))
		}
		for v := range sig.Results().Variables() {
			results = append(results, p.write(v.Type()))
		}
		values := p.values(sig.Results(), name, 2)
		fmt.Fprintf(&p.text, "func %s(%s) (%s) { return %s }\n", name, strings.Join(params, ", "), strings.Join(results, ", "), values)
	}
	return name
}

// implement returns the name of a type that has the methods of an interface, which it writes.
func (p *program) implement(t types.Type) string {
	name := "the_" + mangle(base(t))
	if !p.made[name] {
		p.made[name] = true
		fmt.Fprintf(&p.text, "type %s struct{ %s }\n", name, p.write(t))
	}
	return name
}

// write returns the text of a type.
func (p *program) write(t types.Type) string { return types.TypeString(t, p.qualifier) }

func (p *program) qualifier(pkg *types.Package) string {
	name := mangle(strings.TrimPrefix(pkg.Path(), module))
	p.imports[name] = pkg.Path()
	return name
}

var notInNames, unexported = regexp.MustCompile(`\W+`), regexp.MustCompile(`\.[a-z]`)

func mangle(text string) string { return strings.Trim(notInNames.ReplaceAllString(text, "_"), "_") }

func nameable(text string) bool { return !unexported.MatchString(strings.ReplaceAll(text, "...", "")) }

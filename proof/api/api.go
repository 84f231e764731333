// Package api lists what programs outside compile against: the exported names of each module
// that is released, with their types. docs/api has the lists; a change of one is a change of
// the API, which a reader of a commit sees at once.
package api

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// list returns a sorted line for each exported name of the packages of the module in a
// folder. Packages below internal are nobody's API, and commands have none.
func list(dir string) (lines []string, err error) {
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedTypes}, "./...")
	if err != nil {
		return nil, err
	}
	for _, p := range loaded {
		for _, e := range p.Errors {
			return nil, e
		}
		if p.Name == "main" || strings.Contains(p.PkgPath+"/", "/internal/") {
			continue
		}
		short := strings.TrimPrefix(p.PkgPath, library+"/")
		for _, line := range exported(p.Types) {
			lines = append(lines, short+", "+line)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

const library = "github.com/pinwheel-cache/pinwheel"

// exported returns a line for each exported name of a package.
func exported(p *types.Package) (lines []string) {
	written := func(other *types.Package) string {
		if other == p {
			return ""
		}
		return other.Name()
	}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		if c, ok := object.(*types.Const); ok {
			lines = append(lines, fmt.Sprintf("const %s %s", name, types.TypeString(c.Type(), written)))
			continue
		}
		named, ok := object.(*types.TypeName)
		if !ok {
			lines = append(lines, types.ObjectString(object, written))
			continue
		}
		lines = append(lines, ofType(named, written)...)
	}
	return lines
}

// ofType returns the lines of a type: what it is, and its exported methods and fields.
func ofType(name *types.TypeName, written types.Qualifier) (lines []string) {
	text := func(t types.Type) string { return types.TypeString(t, written) }
	named, ok := types.Unalias(name.Type()).(*types.Named)
	if !ok || name.IsAlias() {
		return []string{"type " + name.Name() + " = " + text(types.Unalias(name.Type()))}
	}
	full := text(named)
	for m := range named.Methods() {
		if m.Exported() {
			lines = append(lines, fmt.Sprintf("method (%s) %s%s", receiver(m, written), m.Name(), strings.TrimPrefix(text(m.Signature()), "func")))
		}
	}
	switch of := named.Underlying().(type) {
	case *types.Struct:
		lines = append(lines, "type "+full+" struct")
		for f := range of.Fields() {
			if f.Exported() {
				lines = append(lines, fmt.Sprintf("field %s.%s %s", name.Name(), f.Name(), text(f.Type())))
			}
		}
	case *types.Interface:
		lines = append(lines, "type "+full+" interface")
		for m := range of.Methods() {
			if m.Exported() {
				lines = append(lines, fmt.Sprintf("method %s.%s%s", name.Name(), m.Name(), strings.TrimPrefix(text(m.Signature()), "func")))
			}
		}
	default:
		lines = append(lines, "type "+full+" "+text(of))
	}
	return lines
}

func receiver(m *types.Func, written types.Qualifier) string {
	return types.TypeString(m.Signature().Recv().Type(), written)
}

// differences returns the lines that are in one of two sorted lists only.
func differences(was, is []string) (gone, added []string) {
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && cmp.Less(was[0], is[0]):
			gone, was = append(gone, was[0]), was[1:]
		case len(was) == 0 || cmp.Less(is[0], was[0]):
			added, is = append(added, is[0]), is[1:]
		default:
			was, is = was[1:], is[1:]
		}
	}
	return gone, added
}

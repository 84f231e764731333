// This file recognises what belongs to pinwheel.

package checks

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

const library = "github.com/pinwheel-cache/pinwheel"

// ofLibrary says whether an object is declared by the library or by one of its modules.
func ofLibrary(o types.Object) bool {
	if o == nil || o.Pkg() == nil {
		return false
	}
	path := o.Pkg().Path()
	return path == library || strings.HasPrefix(path, library+"/")
}

// A method is a call of a method of a cache of package cache or near.
type method struct {
	*ast.CallExpr
	fn   *types.Func
	recv ast.Expr // the cache
}

// methodOf returns false if the call is of something else.
func methodOf(pass *analysis.Pass, call *ast.CallExpr) (m method, ok bool) {
	fn := typeutil.StaticCallee(pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != library+"/cache" && fn.Pkg().Path() != library+"/near" {
		return m, false
	}
	recv := fn.Signature().Recv()
	selector, selects := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if recv == nil || !selects {
		return m, false
	}
	named, _ := deref(recv.Type()).(*types.Named)
	if named == nil || named.Obj().Name() != "Cache" && named.Obj().Name() != "Local" {
		return m, false
	}
	return method{call, fn, selector.X}, true
}

// isTake says whether the method fetches what is not there.
func (m method) isTake() bool { return strings.HasPrefix(m.fn.Name(), "Take") && len(m.Args) > 0 }

// fetch returns the function that fetches, or nil if the call has none that is written out.
func (m method) fetch() *ast.FuncLit {
	if !m.isTake() {
		return nil
	}
	fetch, _ := ast.Unparen(m.Args[len(m.Args)-1]).(*ast.FuncLit)
	return fetch
}

func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	return types.Unalias(t)
}

// isNamed says whether a type, or what it points to, has this name.
func isNamed(t types.Type, path, name string) bool {
	if t == nil {
		return false
	}
	named, _ := deref(t).(*types.Named)
	return named != nil && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

func isContext(t types.Type) bool { return isNamed(t, "context", "Context") }

// isFunc says whether an expression calls one of the functions of a package.
func isFunc(pass *analysis.Pass, e ast.Expr, path string, names ...string) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := typeutil.StaticCallee(pass.TypesInfo, call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == path && slices.Contains(names, fn.Name())
}

// within says whether a position is inside a node.
func within(pos token.Pos, n ast.Node) bool { return n.Pos() <= pos && pos < n.End() }

// rootOf returns the variable at which an expression such as v.a[i].b begins.
func rootOf(pass *analysis.Pass, e ast.Expr) *types.Var {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.Ident:
			v, _ := pass.TypesInfo.ObjectOf(x).(*types.Var)
			return v
		default:
			return nil
		}
	}
}

// nodes visits all nodes of the types given, with those around them.
func nodes(pass *analysis.Pass, visit func(n ast.Node, around []ast.Node), kinds ...ast.Node) {
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	in.WithStack(kinds, func(n ast.Node, push bool, stack []ast.Node) bool {
		if push {
			visit(n, stack[:len(stack)-1])
		}
		return true
	})
}

// inTest says whether a node is in a file of tests.
func inTest(pass *analysis.Pass, n ast.Node) bool {
	return strings.HasSuffix(pass.Fset.Position(n.Pos()).Filename, "_test.go")
}

func isError(v *types.Var) bool {
	return types.Identical(v.Type(), types.Universe.Lookup("error").Type())
}

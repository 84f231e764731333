package checks

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/types/typeutil"
)

// FetchContext reports a fetch that uses the context of one caller.
var FetchContext = &analysis.Analyzer{
	Name: "fetchcontext",
	Doc: `report fetches that use the context of one of their callers

Callers of a Take share a fetch, and it may go on in the background. If it uses the context of the
request that began it, the end of that request fails all of them. Use the context that the
fetch gets: TakeCtx gives it the values of the caller's, and ends it when nobody waits any
more.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		nodes(pass, func(n ast.Node, around []ast.Node) {
			m, ok := methodOf(pass, n.(*ast.CallExpr))
			if !ok {
				return
			}
			if fetch := m.fetch(); fetch != nil {
				reportCaptured(pass, m, fetch, around)
			}
		}, (*ast.CallExpr)(nil))
		return nil, nil
	},
}

// reportCaptured reports contexts from outside a fetch that it uses for more than their values.
func reportCaptured(pass *analysis.Pass, m method, fetch *ast.FuncLit, around []ast.Node) {
	var stack []ast.Node
	ast.Inspect(fetch.Body, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		e, ok := n.(ast.Expr)
		if !ok || !endsWithRequest(pass, e, fetch, around) || asksValuesOnly(pass, e, stack) {
			return true
		}
		use := "use the context that the fetch gets"
		if fetch.Type.Params.NumFields() == 0 {
			use = "use TakeCtx, whose fetch gets one"
		}
		pass.Reportf(e.Pos(), "the fetch of %s uses its caller's context, but other callers share the fetch: %s", m.fn.Name(), use)
		return true
	})
}

// endsWithRequest says whether e is a context from outside the fetch, and that of a request: a
// parameter of a function around, or one made from it.
func endsWithRequest(pass *analysis.Pass, e ast.Expr, fetch *ast.FuncLit, around []ast.Node) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := pass.TypesInfo.Uses[e].(*types.Var)
		if !ok || !isContext(v.Type()) || within(v.Pos(), fetch) {
			return false
		}
		for i := len(around) - 1; i >= 0; i-- {
			if isParameter(v, around[i]) {
				return true
			}
		}
		from := definition(pass, v, around)
		return from != nil && endsWithRequest(pass, from, fetch, around)
	case *ast.CallExpr:
		if isFunc(pass, e, "context", "WithCancel", "WithCancelCause", "WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "WithValue") {
			return !within(e.Pos(), fetch) && endsWithRequest(pass, e.Args[0], fetch, around)
		}
		selector, ok := e.Fun.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != "Context" || !isNamed(pass.TypesInfo.TypeOf(selector.X), "net/http", "Request") {
			return false
		}
		request := rootOf(pass, selector.X)
		return request != nil && !within(request.Pos(), fetch)
	}
	return false
}

// isParameter says whether n is a function with that parameter.
func isParameter(v *types.Var, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return within(v.Pos(), n.Type)
	case *ast.FuncLit:
		return within(v.Pos(), n.Type)
	}
	return false
}

// definition returns what a variable gets where it is declared, if that is an assignment in the
// function around.
func definition(pass *analysis.Pass, v *types.Var, around []ast.Node) (from ast.Expr) {
	for _, n := range around {
		if !within(v.Pos(), n) {
			continue
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok {
				for i, to := range a.Lhs {
					if id, ok := to.(*ast.Ident); ok && pass.TypesInfo.Defs[id] == v {
						from = a.Rhs[min(i, len(a.Rhs)-1)]
					}
				}
			}
			return from == nil
		})
		break
	}
	return from
}

// asksValuesOnly says whether the innermost call around a context only looks up its values, or
// makes a context of it that does not end with it.
func asksValuesOnly(pass *analysis.Pass, e ast.Expr, stack []ast.Node) bool {
	for i := len(stack) - 2; i >= 0; i-- {
		switch n := stack[i].(type) {
		case *ast.SelectorExpr:
			if n.X == e {
				return n.Sel.Name == "Value"
			}
		case *ast.CallExpr:
			fn := typeutil.StaticCallee(pass.TypesInfo, n)
			return fn != nil && (strings.HasSuffix(fn.Name(), "FromContext") || isFunc(pass, n, "context", "WithoutCancel"))
		}
	}
	return false
}

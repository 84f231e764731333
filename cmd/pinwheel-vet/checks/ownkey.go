package checks

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
)

// OwnKey reports a fetch that may wait for itself.
var OwnKey = &analysis.Analyzer{
	Name: "ownkey",
	Doc: `report a Take of a cache inside its own fetch, without the fetch's context

If it comes to the key that is being fetched, the fetch waits for itself. With the context that
the fetch gets the cache notices that, and returns an error.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		nodes(pass, func(n ast.Node, _ []ast.Node) {
			outer, ok := methodOf(pass, n.(*ast.CallExpr))
			if !ok {
				return
			}
			fetch := outer.fetch()
			if fetch == nil {
				return
			}
			ast.Inspect(fetch.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				inner, ok := methodOf(pass, call)
				if ok && inner.isTake() && sameCache(pass, outer.recv, inner.recv) && !getsContextOf(pass, inner, fetch) {
					pass.Reportf(call.Pos(), "%s of the cache whose fetch this is: if it comes to the same key it waits for itself; give it the context that the fetch gets", inner.fn.Name())
				}
				return true
			})
		}, (*ast.CallExpr)(nil))
		return nil, nil
	},
}

// sameCache says whether two expressions are the same variable, or the same fields of it.
func sameCache(pass *analysis.Pass, a, b ast.Expr) bool {
	v := rootOf(pass, a)
	return v != nil && v == rootOf(pass, b) && types.ExprString(a) == types.ExprString(b)
}

// getsContextOf says whether a call gets the context of the fetch, or one made inside it.
func getsContextOf(pass *analysis.Pass, m method, fetch *ast.FuncLit) bool {
	if len(m.Args) == 0 || !isContext(pass.TypesInfo.TypeOf(m.Args[0])) {
		return false
	}
	v := rootOf(pass, m.Args[0])
	return v != nil && within(v.Pos(), fetch) || v == nil && !strings.Contains(types.ExprString(m.Args[0]), "context.Background")
}

package checks

import (
	"go/ast"
	"go/constant"
	"go/types"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/types/typeutil"
)

// Duration reports a duration whose unit was forgotten.
var Duration = &analysis.Analyzer{
	Name: "duration",
	Doc: `report durations without a unit

A time.Duration counts nanoseconds, so Expire: 60*60 is not an hour: everything expires
at once. It reports constants below a millisecond that are given to pinwheel and have no unit
of package time.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		nodes(pass, func(n ast.Node, _ []ast.Node) {
			switch n := n.(type) {
			case *ast.CallExpr:
				durationArgs(pass, n)
			case *ast.CompositeLit:
				for _, element := range n.Elts {
					if kv, ok := element.(*ast.KeyValueExpr); ok {
						if field, ok := kv.Key.(*ast.Ident); ok && ofLibrary(pass.TypesInfo.ObjectOf(field)) {
							wantUnit(pass, kv.Value, field.Name)
						}
					}
				}
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if field, ok := to.(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) && ofLibrary(pass.TypesInfo.ObjectOf(field.Sel)) {
						wantUnit(pass, n.Rhs[i], field.Sel.Name)
					}
				}
			}
		}, (*ast.CallExpr)(nil), (*ast.CompositeLit)(nil), (*ast.AssignStmt)(nil))
		return nil, nil
	},
}

// durationArgs looks at what a call of the library gets.
func durationArgs(pass *analysis.Pass, call *ast.CallExpr) {
	fn := typeutil.StaticCallee(pass.TypesInfo, call)
	if fn == nil || !ofLibrary(fn) {
		return
	}
	for i, arg := range call.Args {
		if params := fn.Signature().Params(); i < params.Len() && isNamed(params.At(i).Type(), "time", "Duration") {
			wantUnit(pass, arg, fn.Name())
		}
	}
}

// wantUnit reports a duration that has none. One nanosecond is meant as such: the shortest.
func wantUnit(pass *analysis.Pass, e ast.Expr, of string) {
	t := pass.TypesInfo.Types[e]
	if t.Value == nil || !isNamed(t.Type, "time", "Duration") {
		return
	}
	n, exact := constant.Int64Val(constant.ToInt(t.Value))
	if !exact || n <= 1 || n >= int64(time.Millisecond) || hasUnit(pass, e) {
		return
	}
	pass.Reportf(e.Pos(), "%s gets %v, which has no unit: write %d*time.Second, if seconds are meant", of, time.Duration(n), n)
}

// hasUnit says whether the expression names a constant that is a duration by itself.
func hasUnit(pass *analysis.Pass, e ast.Expr) (has bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if c, ok := pass.TypesInfo.ObjectOf(id).(*types.Const); ok && isNamed(c.Type(), "time", "Duration") {
				has = true
			}
		}
		return true
	})
	return has
}

package checks

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
)

// MetricName reports names of caches that are made up at run time.
var MetricName = &analysis.Analyzer{
	Name: "metricname",
	Doc: `report a Name of a cache that is not constant

Each name is a label of every metric: a name with an id in it makes as many series as there are
ids. It reports a Name that is put together of parts that are not constant.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		nodes(pass, func(n ast.Node, _ []ast.Node) {
			options := n.(*ast.CompositeLit)
			if inTest(pass, n) || !isOptions(pass.TypesInfo.TypeOf(options)) {
				return
			}
			for _, element := range options.Elts {
				if kv, ok := element.(*ast.KeyValueExpr); ok && types.ExprString(kv.Key) == "Name" && madeUp(pass, kv.Value) {
					pass.Reportf(kv.Value.Pos(), "the Name of a cache is a label of its metrics: want a constant")
				}
			}
		}, (*ast.CompositeLit)(nil))
		return nil, nil
	},
}

func isOptions(t types.Type) bool {
	return isNamed(t, library+"/cache", "Options") || isNamed(t, library+"/near", "Options") || isNamed(t, library+"/near", "LocalOptions")
}

// madeUp says whether a string is put together here: a sum, or the result of a function that
// formats.
func madeUp(pass *analysis.Pass, e ast.Expr) bool {
	t := pass.TypesInfo.Types[e]
	if basic, ok := t.Type.Underlying().(*types.Basic); t.Value != nil || !ok || basic.Info()&types.IsString == 0 {
		return false
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		return true
	case *ast.CallExpr:
		return isFunc(pass, e, "fmt", "Sprint", "Sprintf", "Sprintln") || isFunc(pass, e, "strings", "Join") ||
			isFunc(pass, e, "strconv", "Itoa", "FormatInt", "FormatUint", "Quote")
	}
	return false
}

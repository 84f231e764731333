package checks

import (
	"go/ast"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
)

// DroppedError reports errors that nobody looks at.
var DroppedError = &analysis.Analyzer{
	Name: "droppederror",
	Doc: `report errors of a cache that are dropped

If Del or Set of a near cache fails, other instances keep what was there. If Close fails, some
loads or callbacks have not ended. Write _ = c.Del(ctx, key) if that is meant. A deferred Close
is not reported, nor is one in a test.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		nodes(pass, func(n ast.Node, _ []ast.Node) {
			var call *ast.CallExpr
			deferred := false
			switch n := n.(type) {
			case *ast.ExprStmt:
				call, _ = n.X.(*ast.CallExpr)
			case *ast.GoStmt:
				call = n.Call
			case *ast.DeferStmt:
				call, deferred = n.Call, true
			}
			if call != nil {
				reportDropped(pass, call, deferred)
			}
		}, (*ast.ExprStmt)(nil), (*ast.GoStmt)(nil), (*ast.DeferStmt)(nil))
		return nil, nil
	},
}

// consequences says what follows from the errors that are reported.
var consequences = map[string]string{
	"Set":     "other instances may keep what was there",
	"SetMany": "other instances may keep what was there",
	"Del":     "what was there may be served on",
	"DelMany": "what was there may be served on",
	"Close":   "some loads or callbacks may not have ended",
}

func reportDropped(pass *analysis.Pass, call *ast.CallExpr, deferred bool) {
	m, ok := methodOf(pass, call)
	if !ok || m.fn.Name() == "Close" && (deferred || inTest(pass, call)) {
		return
	}
	results := m.fn.Signature().Results()
	if !slices.ContainsFunc(slices.Collect(results.Variables()), isError) {
		return
	}
	if consequence, ok := consequences[m.fn.Name()]; ok {
		pass.Reportf(call.Pos(), "the error of %s is dropped: %s", m.fn.Name(), consequence)
	}
}

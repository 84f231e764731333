package checks

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/types/typeutil"
)

// BeforeCommit reports a removal that comes too early.
var BeforeCommit = &analysis.Analyzer{
	Name: "beforecommit",
	Doc: `report a Del before the commit of a transaction

Between the two another caller loads the row as it was before the commit, and the cache keeps
it. Commit first, then Del.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		nodes(pass, func(n ast.Node, _ []ast.Node) { reportEarly(pass, n.(*ast.BlockStmt).List) }, (*ast.BlockStmt)(nil))
		return nil, nil
	},
}

// reportEarly reports the removals in statements after which one of the same block commits.
func reportEarly(pass *analysis.Pass, block []ast.Stmt) {
	commit := -1
	for i, s := range block {
		if contains(s, func(call *ast.CallExpr) bool { return commits(pass, call) }) {
			commit = i
		}
	}
	for i := 0; i < commit; i++ {
		if mayLeave(block[i]) || contains(block[i], func(call *ast.CallExpr) bool { return commits(pass, call) }) {
			continue
		}
		contains(block[i], func(call *ast.CallExpr) bool {
			if m, ok := methodOf(pass, call); ok && strings.HasPrefix(m.fn.Name(), "Del") {
				pass.Reportf(call.Pos(), "%s comes before Commit: what is loaded in between is the old row, and stays", m.fn.Name())
			}
			return false
		})
	}
}

// contains says whether a statement has a call, which is not deferred or in a function inside.
func contains(s ast.Stmt, is func(*ast.CallExpr) bool) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeferStmt, *ast.GoStmt, *ast.FuncLit:
			return false
		case *ast.CallExpr:
			found = found || is(n)
		}
		return true
	})
	return found
}

// mayLeave says whether a statement is a branch that ends the function, so that what it
// removes may be on a way that does not commit.
func mayLeave(s ast.Stmt) (leaves bool) {
	branch, ok := s.(*ast.IfStmt)
	if !ok {
		return false
	}
	ast.Inspect(branch.Body, func(n ast.Node) bool {
		if _, ok := n.(*ast.ReturnStmt); ok {
			leaves = true
		}
		return !leaves
	})
	return leaves && !contains(&ast.ExprStmt{X: condition(branch)}, func(*ast.CallExpr) bool { return true })
}

// condition returns what a branch computes before it decides.
func condition(branch *ast.IfStmt) ast.Expr {
	if a, ok := branch.Init.(*ast.AssignStmt); ok && len(a.Rhs) == 1 {
		return a.Rhs[0]
	}
	return branch.Cond
}

// commits says whether a call commits a transaction: a method Commit of a type whose name ends
// with Tx, as in database/sql, pgx and sqlx, or of one that can also roll back.
func commits(pass *analysis.Pass, call *ast.CallExpr) bool {
	fn, ok := typeutil.Callee(pass.TypesInfo, call).(*types.Func)
	if !ok || fn.Name() != "Commit" || fn.Signature().Recv() == nil {
		return false
	}
	recv := fn.Signature().Recv().Type()
	if named, ok := deref(recv).(*types.Named); ok && strings.HasSuffix(named.Obj().Name(), "Tx") {
		return true
	}
	rollback, _, _ := types.LookupFieldOrMethod(recv, true, fn.Pkg(), "Rollback")
	return rollback != nil
}

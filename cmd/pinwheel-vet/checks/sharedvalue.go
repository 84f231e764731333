package checks

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/types/typeutil"
)

// SharedValue reports changes of a value that the cache still holds.
var SharedValue = &analysis.Analyzer{
	Name: "sharedvalue",
	Doc: `report changes of values that came from a cache

A pointer, a slice or a map from Get or Take is the one that the cache holds, and that all its
callers get: who changes it changes it for them, in a data race. Change a copy, and Set that. A
near cache with Clone in its options gives each caller a copy: there, turn the check off.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		nodes(pass, func(n ast.Node, _ []ast.Node) {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					reportChanges(pass, n.Body)
				}
			case *ast.FuncLit:
				reportChanges(pass, n.Body)
			}
		}, (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil))
		return nil, nil
	},
}

// reportChanges reports changes of what the function itself, not one inside it, has from a cache.
func reportChanges(pass *analysis.Pass, body *ast.BlockStmt) {
	from := map[*types.Var]string{} // the method that returned it
	written := map[*types.Var]int{}
	inspectOwn(body, func(n ast.Node) {
		a, ok := n.(*ast.AssignStmt)
		if !ok {
			return
		}
		for i, to := range a.Lhs {
			id, ok := to.(*ast.Ident)
			if !ok {
				continue
			}
			v, ok := pass.TypesInfo.ObjectOf(id).(*types.Var)
			if !ok {
				continue
			}
			written[v]++
			if name := shares(pass, a.Rhs[min(i, len(a.Rhs)-1)]); name != "" && i == 0 && leads(v.Type()) {
				from[v] = name
			}
		}
	})
	inspectOwn(body, func(n ast.Node) {
		for _, changed := range changes(pass, n) {
			if v := rootOf(pass, changed); v != nil && from[v] != "" && written[v] == 1 {
				pass.Reportf(n.Pos(), "%s is what %s has returned, and other callers have it too: change a copy", v.Name(), from[v])
			}
		}
	})
}

// inspectOwn visits the nodes of a function, but not those of functions inside it.
func inspectOwn(body *ast.BlockStmt, visit func(ast.Node)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		if n != nil {
			visit(n)
		}
		return true
	})
}

// shares returns the name of the method of a cache that e calls, if its value is one that others
// get too.
func shares(pass *analysis.Pass, e ast.Expr) string {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return ""
	}
	m, ok := methodOf(pass, call)
	switch name := m.fn; {
	case !ok:
		return ""
	case slices.Contains([]string{"Get", "Peek", "GetOrSet"}, name.Name()), strings.HasPrefix(name.Name(), "Take") && !strings.HasPrefix(name.Name(), "TakeMany"):
		return name.Name()
	}
	return ""
}

// leads says whether copies of a value of that type lead to the same memory.
func leads(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	}
	return false
}

// changes returns the expressions whose memory a node changes.
func changes(pass *analysis.Pass, n ast.Node) (changed []ast.Expr) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, to := range n.Lhs {
				if _, plain := ast.Unparen(to).(*ast.Ident); !plain {
					changed = append(changed, to)
				}
			}
		}
	case *ast.IncDecStmt:
		if _, plain := ast.Unparen(n.X).(*ast.Ident); !plain {
			changed = append(changed, n.X)
		}
	case *ast.CallExpr:
		if len(n.Args) > 0 && changesArgument(pass, n) {
			changed = append(changed, n.Args[0])
		}
	}
	return changed
}

// changesArgument says whether a function is known to change its first argument.
func changesArgument(pass *analysis.Pass, call *ast.CallExpr) bool {
	switch fn := typeutil.Callee(pass.TypesInfo, call).(type) {
	case *types.Builtin:
		_, part := ast.Unparen(call.Args[0]).(*ast.SliceExpr) // append(v[:i], …) overwrites v[i]
		return fn.Name() == "delete" || fn.Name() == "clear" || fn.Name() == "copy" || fn.Name() == "append" && part
	case *types.Func:
		return isFunc(pass, call, "sort", "Sort", "Stable", "Slice", "SliceStable", "Ints", "Strings", "Float64s") ||
			isFunc(pass, call, "slices", "Sort", "SortFunc", "SortStableFunc", "Reverse", "Compact", "CompactFunc", "Delete", "DeleteFunc", "Replace") ||
			isFunc(pass, call, "maps", "Copy", "DeleteFunc", "Insert")
	}
	return false
}

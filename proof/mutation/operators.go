package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
)

// The operators make common mistakes of a line, by what they do to a statement or an expression:
//
//	drop       a statement; what an assignment would store
//	condition  of if, for or case, or in a return: always true, never
//	negate     a condition; ! is dropped
//	operand    of && and ||, + and -, min and max: one is dropped
//	other      && for ||, + for -, < for <= and for >=, min for max, true for false in a return,
//	           and the other way round; an integer is one more
//
// What they replace is still compiled, as in "false && (x)", so that a variable does not become
// unused.
type operators struct {
	source   []byte
	path     string // from the root of the repository
	files    *token.FileSet
	function string
	on       func(line int) bool // whether a line is to be changed
	made     []mutation
}

// operate returns the mutations that operators make of some lines of a file. All tests of its
// package must notice them.
func operate(source []byte, path string, on func(line int) bool) ([]mutation, error) {
	o := operators{source: source, path: path, files: token.NewFileSet(), on: on}
	file, err := parser.ParseFile(o.files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			o.function = nameOf(f)
			ast.Inspect(f.Body, o.visit)
		}
	}
	return o.made, nil
}

func (o *operators) textOf(n ast.Node) string {
	return string(o.source[o.files.Position(n.Pos()).Offset:o.files.Position(n.End()).Offset])
}

// replace makes mutations that have a text in place of a node.
func (o *operators) replace(operator string, n ast.Node, texts ...string) {
	o.replaceBetween(operator, n.Pos(), n.End(), texts...)
}

func (o *operators) replaceBetween(operator string, from, to token.Pos, texts ...string) {
	at := o.files.Position(from)
	if !o.on(at.Line) {
		return
	}
	folder, end := path.Dir(o.path), o.files.Position(to).Offset
	for _, text := range texts {
		o.made = append(o.made, mutation{
			name: fmt.Sprintf("line %d, %s", at.Line, operator), folder: folder, function: o.function,
			old: string(o.source[at.Offset:end]), new: text, test: test{pkg: folder, run: "."},
			made: &edit{path: o.path, start: at.Offset, end: end, text: text},
		})
	}
}

func (o *operators) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		o.drop(n.List)
	case *ast.CaseClause:
		o.drop(n.Body)
	case *ast.CommClause:
		o.drop(n.Body)
	case *ast.IfStmt:
		o.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			o.replace("condition", n.Cond, "false && ("+o.textOf(n.Cond)+")")
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, s := range n.Body.List {
				for _, c := range s.(*ast.CaseClause).List {
					o.condition(c)
				}
			}
		}
	case *ast.ReturnStmt:
		o.answers(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			o.replace("negate", n, o.textOf(n.X))
		}
	case *ast.BinaryExpr:
		o.binary(n)
	case *ast.BasicLit:
		if i, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
			o.replace("other", n, strconv.Itoa(i+1))
		}
	case *ast.CallExpr:
		if other := map[string]string{"min": "max", "max": "min"}[o.textOf(n.Fun)]; other != "" {
			o.replace("other", n.Fun, other)
			for i := range n.Args {
				if len(n.Args) == 2 {
					o.replace("operand", n, o.textOf(n.Args[i]))
				}
			}
		}
	}
	return true
}

func (o *operators) drop(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
			if s.Tok == token.ASSIGN && len(s.Lhs) == 1 {
				o.replace("drop", s.Lhs[0], "_")
			}
		case *ast.ReturnStmt:
			if s.Results != nil {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.BranchStmt:
		default:
			continue
		}
		o.replace("drop", s, "if false { "+o.textOf(s)+" }")
	}
}

func (o *operators) condition(c ast.Expr) {
	text := o.textOf(c)
	o.replace("condition", c, "true || ("+text+")", "false && ("+text+")")
	if _, not := c.(*ast.UnaryExpr); !not {
		o.replace("negate", c, "!("+text+")")
	}
}

func (o *operators) answers(r *ast.ReturnStmt) {
	for _, result := range r.Results {
		switch o.textOf(result) {
		case "true":
			o.replace("other", result, "false")
		case "false":
			o.replace("other", result, "true")
		default:
			if b, ok := result.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR || b.Op.Precedence() == token.EQL.Precedence()) {
				o.condition(result)
			}
		}
	}
}

// others are the operators that one is mistaken for.
var others = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND}, token.ADD: {token.SUB}, token.SUB: {token.ADD},
}

func (o *operators) binary(b *ast.BinaryExpr) {
	for _, other := range others[b.Op] {
		o.replaceBetween("other", b.OpPos, b.OpPos+token.Pos(len(b.Op.String())), other.String())
	}
	switch b.Op {
	case token.LAND, token.LOR, token.ADD, token.SUB:
		o.replace("operand", b, o.textOf(b.X), o.textOf(b.Y))
	}
}

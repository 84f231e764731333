package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// A mutant is a common mistake: a part of a line that an operator has replaced.
type mutant struct {
	function   string // that it is in, as Name or Type.Name
	operator   string // what kind of mistake it is
	start, end int    // the bytes of the source that are replaced
	text       string // by what
}

// The operators, by what they do to a statement or an expression:
//
//	drop       a statement that is a line; what an assignment would store
//	condition  of if, for or case, or in a return: always true, never
//	negate     a condition; ! is dropped
//	operand    of && and ||, + and -, min and max: one is dropped
//	logic      && for ||, and the other way round
//	compare    < for <=, and so on; the opposite
//	sign       + for -, and the other way round
//	off by one an integer is one more
//	min max    one for the other
//	answer     true for false, and the other way round, in a return
//
// What they replace is still compiled, as in "false && (x)", so that a variable does not become
// unused.
const maxText = 200 // bytes of a line that is changed

// mutantsOf returns what the operators make of a source file.
func mutantsOf(source []byte) ([]mutant, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	o := operators{source: source, files: files}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			o.function = nameOf(f)
			ast.Inspect(f.Body, o.visit)
		}
	}
	return o.made, nil
}

// operators make the mutants of a file.
type operators struct {
	source   []byte
	files    *token.FileSet
	function string
	made     []mutant
}

func (o *operators) offset(p token.Pos) int { return o.files.Position(p).Offset }

func (o *operators) textOf(n ast.Node) string {
	return string(o.source[o.offset(n.Pos()):o.offset(n.End())])
}

// replace adds mutants that have a text in place of a node.
func (o *operators) replace(operator string, n ast.Node, texts ...string) {
	o.replaceBetween(operator, n.Pos(), n.End(), texts...)
}

// replaceToken adds mutants that have another operator at a position.
func (o *operators) replaceToken(operator string, at token.Pos, old token.Token, by ...token.Token) {
	for _, t := range by {
		o.replaceBetween(operator, at, at+token.Pos(len(old.String())), t.String())
	}
}

func (o *operators) replaceBetween(operator string, from, to token.Pos, texts ...string) {
	for _, text := range texts {
		o.made = append(o.made, mutant{o.function, operator, o.offset(from), o.offset(to), text})
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
			o.replace("condition", n.Cond, never(o.textOf(n.Cond)))
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			o.cases(n.Body)
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
		o.literal(n)
	case *ast.CallExpr:
		o.call(n)
	}
	return true
}

// drop drops the statements that are a line each.
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
		if o.files.Position(s.Pos()).Line == o.files.Position(s.End()).Line {
			o.replace("drop", s, "if false { "+o.textOf(s)+" }")
		}
	}
}

func (o *operators) condition(c ast.Expr) {
	o.replace("condition", c, "true || ("+o.textOf(c)+")", never(o.textOf(c)))
	if _, not := c.(*ast.UnaryExpr); !not {
		o.replace("negate", c, "!("+o.textOf(c)+")")
	}
}

func never(condition string) string { return "false && (" + condition + ")" }

func (o *operators) cases(body *ast.BlockStmt) {
	for _, s := range body.List {
		for _, c := range s.(*ast.CaseClause).List {
			o.condition(c)
		}
	}
}

func (o *operators) answers(r *ast.ReturnStmt) {
	for _, result := range r.Results {
		switch o.textOf(result) {
		case "true":
			o.replace("answer", result, "false")
		case "false":
			o.replace("answer", result, "true")
		default:
			if b, ok := result.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR || opposites[b.Op] != 0) {
				o.condition(result)
			}
		}
	}
}

// opposites and neighbours are the comparisons that a comparison is mistaken for.
var (
	opposites = map[token.Token]token.Token{
		token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
	}
	neighbours = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	others     = map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD}
)

func (o *operators) binary(b *ast.BinaryExpr) {
	if to, ok := opposites[b.Op]; ok {
		o.replaceToken("compare", b.OpPos, b.Op, to)
	}
	if to, ok := neighbours[b.Op]; ok {
		o.replaceToken("compare", b.OpPos, b.Op, to)
	}
	switch b.Op {
	case token.LAND, token.LOR:
		o.replaceToken("logic", b.OpPos, b.Op, others[b.Op])
		o.operands(b)
	case token.ADD, token.SUB:
		o.replaceToken("sign", b.OpPos, b.Op, others[b.Op])
		o.operands(b)
	}
}

func (o *operators) operands(b *ast.BinaryExpr) {
	o.replace("operand", b, o.textOf(b.X), o.textOf(b.Y))
}

func (o *operators) literal(l *ast.BasicLit) {
	if n, err := strconv.Atoi(l.Value); err == nil && l.Kind == token.INT {
		o.replace("off by one", l, strconv.Itoa(n+1))
	}
}

func (o *operators) call(c *ast.CallExpr) {
	other := map[string]string{"min": "max", "max": "min"}[o.textOf(c.Fun)]
	if other == "" {
		return
	}
	o.replace("min max", c.Fun, other)
	for _, arg := range c.Args {
		if len(c.Args) == 2 {
			o.replace("operand", c, o.textOf(arg))
		}
	}
}

// mutation returns a mutant of a file of a package as an entry of a list has it. It returns
// false if it changes more than a line.
func (m mutant) mutation(pkg, file string, source []byte) (mutation, bool) {
	from := strings.LastIndexByte(string(source[:m.start]), '\n') + 1
	to := m.end + strings.IndexByte(string(source[m.end:]), '\n')
	line := string(source[from:to])
	if strings.Contains(line, "\n") || len(line) > maxText {
		return mutation{}, false
	}
	mutated := string(source[from:m.start]) + m.text + string(source[m.end:to])
	number := 1 + strings.Count(string(source[:from]), "\n")
	return mutation{
		name:     fmt.Sprintf("line %d: %s", number, m.operator),
		file:     file,
		function: m.function,
		old:      strings.TrimSpace(line),
		new:      strings.TrimSpace(mutated),
		line:     number,
		test:     test{pkg: pkg, run: ".", long: true},
	}, true
}

package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"
)

// A call is a call of a library's function or method. Its rules write the edits.
type call struct {
	*file
	unit  *unit
	expr  *ast.CallExpr
	sel   *ast.SelectorExpr // what is called, without type arguments
	types []ast.Expr        // type arguments
	stack []ast.Node        // around expr
}

// visit finds what uses the libraries: the constructors, which set the traits of units, or all
// else.
func (f *file) visit(p *program, constructors bool) {
	var stack []ast.Node
	ast.PreorderStack(f.syntax, stack, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			f.visitCall(p, n, stack, constructors)
		case *ast.Ident:
			if !constructors {
				f.visitName(p, n, stack)
			}
		}
		return true
	})
}

// libraryOf returns the library to which an object belongs.
func libraryOf(object types.Object) *library {
	if object == nil || object.Pkg() == nil {
		return nil
	}
	return libraries[object.Pkg().Path()]
}

func (f *file) visitCall(p *program, expr *ast.CallExpr, stack []ast.Node, constructors bool) {
	c := &call{file: f, expr: expr, stack: stack}
	fun := ast.Unparen(expr.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun, c.types = x.X, []ast.Expr{x.Index}
	case *ast.IndexListExpr:
		fun, c.types = x.X, x.Indices
	}
	var ok bool
	if c.sel, ok = fun.(*ast.SelectorExpr); !ok {
		return
	}
	object, ok := f.pkg.TypesInfo.Uses[c.sel.Sel].(*types.Func)
	if !ok || libraryOf(object) == nil {
		return
	}
	c.unit = p.unit(libraryOf(object), f.pkg.PkgPath)
	name := qualified(object)
	r, ok := c.unit.lib.rules[name]
	if !ok || r.constructor != constructors || f.covered(c.sel.Sel) {
		return
	}
	if why := r.do(c); why != "" {
		f.stay(c.unit, expr, stack, why)
		// What is in the call needs no comment of its own.
		f.edits = append(f.edits, edit{unit: c.unit, from: f.offset(c.sel.Sel.Pos()), to: f.offset(c.sel.Sel.End())})
		if r.constructor {
			for _, arg := range expr.Args {
				f.edits = append(f.edits, edit{unit: c.unit, from: f.offset(arg.Pos()), to: f.offset(arg.End())})
			}
		}
		return
	}
	f.edits[len(f.edits)-1].counts = true
}

// qualified returns the name of a function, with that of its type if it is a method.
func qualified(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return fn.Name()
	}
	t := recv.Type()
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name() + "." + fn.Name()
	}
	return fn.Name()
}

// visitName looks at a name that no rule of a call has replaced: types and constants move, and
// of all else the unit stays.
func (f *file) visitName(p *program, id *ast.Ident, stack []ast.Node) {
	object := f.pkg.TypesInfo.Uses[id]
	lib := libraryOf(object)
	if _, isName := object.(*types.PkgName); isName || lib == nil || f.covered(id) {
		return
	}
	u := p.unit(lib, f.pkg.PkgPath)
	if lib.dropIn != "" {
		f.dropIn(u, id, object, stack)
		return
	}
	var expr ast.Node = id
	if sel, ok := parent(stack, 0).(*ast.SelectorExpr); ok && sel.Sel == id {
		expr, stack = sel, stack[:len(stack)-1]
	} else if !isField(object) {
		if _, embedded := parent(stack, 0).(*ast.Field); !embedded {
			// A name that was inferred, such as that of an embedded field.
			if _, ok := object.(*types.TypeName); !ok {
				f.stay(u, id, stack, "pinwheel has no "+object.Name())
				return
			}
		}
	}
	switch object := object.(type) {
	case *types.TypeName:
		becomes := lib.becomes[object.Name()]
		if becomes == nil {
			f.stay(u, expr, stack, "pinwheel has no type "+object.Name())
			return
		}
		if why := f.typeStays(expr, stack); why != "" {
			f.stay(u, expr, stack, why)
			return
		}
		f.replace(u, expr.Pos(), expr.End(), becomes.name).counts = true
		if index, ok := parent(stack, 0).(*ast.IndexExpr); ok && becomes.before != "" {
			f.replace(u, index.Lbrack+1, index.Lbrack+1, becomes.before)
		}
	case *types.Const:
		text, ok := lib.constants[object.Name()]
		if !ok {
			f.stay(u, expr, stack, "pinwheel has no "+object.Name())
			return
		}
		e := f.replace(u, expr.Pos(), expr.End(), text)
		e.imports = "time"
	default:
		name := object.Name()
		if fn, ok := object.(*types.Func); ok {
			name = qualified(fn)
			if _, ok := lib.rules[name]; ok {
				f.stay(u, expr, stack, name+" is not called here, and pinwheel's has another type")
				return
			}
		}
		f.stay(u, expr, stack, "pinwheel has no equal of "+name)
	}
}

// dropIn moves to another package with the same names.
func (f *file) dropIn(u *unit, id *ast.Ident, object types.Object, stack []ast.Node) {
	name := object.Name()
	if fn, ok := object.(*types.Func); ok {
		name = qualified(fn)
	}
	if !slices.Contains(u.lib.same, name) {
		f.stay(u, id, stack, u.lib.dropIn+" has no "+name)
		return
	}
	for _, spec := range f.syntax.Imports {
		if strings.Trim(spec.Path.Value, "`\"") == u.lib.path && !f.covered(spec.Path) {
			f.replace(u, spec.Path.Pos(), spec.Path.End(), `"`+u.lib.dropIn+`"`).counts = true
		}
	}
}

func isField(object types.Object) bool {
	v, ok := object.(*types.Var)
	return ok && v.IsField()
}

// typeStays returns why a type cannot move where it stands.
func (f *file) typeStays(expr ast.Node, stack []ast.Node) string {
	i := 0
	switch parent(stack, 0).(type) {
	case *ast.IndexExpr, *ast.IndexListExpr:
		i = 1
	}
	if _, ok := parent(stack, i).(*ast.StarExpr); !ok {
		return "a cache of pinwheel is used by its pointer and made by New only"
	}
	switch above := parent(stack, i+1).(type) {
	case *ast.TypeAssertExpr, *ast.CaseClause:
		return "the cache is taken out of an interface, and may not have been moved where it was put in"
	case *ast.TypeSpec:
		if !above.Assign.IsValid() {
			return "the type has no methods, and its conversions were not looked at"
		}
	}
	return ""
}

// parent returns the i-th node around the innermost one.
func parent(stack []ast.Node, i int) ast.Node {
	if i >= len(stack) {
		return nil
	}
	return stack[len(stack)-1-i]
}

// value returns the value of a constant expression.
func (f *file) value(e ast.Expr) (int64, bool) {
	v := f.pkg.TypesInfo.Types[e].Value
	if v == nil {
		return 0, false
	}
	return constant.Int64Val(constant.ToInt(v))
}

// pure reports whether leaving out an expression changes nothing else.
func (f *file) pure(e ast.Expr) bool {
	pure := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if !f.pkg.TypesInfo.Types[n.Fun].IsType() {
				pure = false
			}
		case *ast.UnaryExpr:
			pure = pure && n.Op != token.ARROW
		}
		return pure
	})
	return pure
}

// unused reports whether no one looks at the results of the call.
func (c *call) unused() bool {
	switch p := parent(c.stack, 0).(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		return true
	case *ast.AssignStmt:
		return !slices.ContainsFunc(p.Lhs, func(e ast.Expr) bool { return !isBlank(e) })
	}
	return false
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// asStatement takes the blanks from before a call whose results no one looks at.
func (c *call) asStatement() {
	if a, ok := parent(c.stack, 0).(*ast.AssignStmt); ok {
		c.replace(c.unit, a.Pos(), c.expr.Pos(), "")
	}
}

// rename has the call call another method.
func (c *call) rename(to string) {
	c.replace(c.unit, c.sel.Sel.Pos(), c.sel.Sel.End(), to)
}

// dropArgs leaves out the arguments from the i-th on.
func (c *call) dropArgs(i int) {
	c.replace(c.unit, c.expr.Args[i-1].End(), c.expr.Rparen, "")
}

// helper has the call call a function of the program with the cache as its first argument.
func (c *call) helper(name, typeArgs string) string {
	if !c.onCache() {
		return "the cache is embedded here, and a function in place of the method needs the cache itself"
	}
	if c.pkg.Types.Scope().Lookup(name) != nil {
		return "the package has its own " + name
	}
	comma := ", "
	if len(c.expr.Args) == 0 {
		comma = ""
	}
	c.replace(c.unit, c.expr.Pos(), c.expr.Pos(), name+typeArgs+"(")
	c.replace(c.unit, c.sel.X.End(), c.expr.Lparen+1, comma).helper = name
	return ""
}

// onCache reports whether the method is called on a cache itself, not on what embeds it.
func (c *call) onCache() bool {
	t := types.Unalias(c.pkg.TypesInfo.TypeOf(c.sel.X))
	ptr, ok := t.(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(ptr.Elem()).(*types.Named)
	return ok && libraryOf(named.Obj()) == c.unit.lib
}

// drop removes the statement that is the call.
func (c *call) drop() string {
	stmt := parent(c.stack, 0)
	switch stmt.(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
	default:
		return "pinwheel needs no " + c.sel.Sel.Name
	}
	if _, ok := parent(c.stack, 1).(*ast.BlockStmt); !ok || !c.pure(c.sel.X) {
		return "pinwheel needs no " + c.sel.Sel.Name
	}
	c.replace(c.unit, stmt.Pos(), stmt.End(), "")
	return ""
}

// options are the fields of cache.Options that a constructor writes.
type options struct {
	call   *call
	fields []string
	why    string // they cannot be written
}

// text returns the source of an expression.
func (f *file) source(e ast.Expr) string {
	return string(f.src[f.offset(e.Pos()):f.offset(e.End())])
}

// ttl adds a TTL which the library takes for none if it is 0 or less.
func (o *options) ttl(field string, d ast.Expr) {
	switch v, ok := o.call.value(d); {
	case ok && v <= 0:
		if !o.call.pure(d) {
			o.why = "its TTL has effects"
		}
	case ok && time.Duration(v) < time.Millisecond:
		o.why = "pinwheel refuses a TTL below a millisecond"
	case ok:
		o.fields = append(o.fields, field+": "+o.call.source(d))
	default:
		o.fields = append(o.fields, field+": max("+o.call.source(d)+", 0)")
	}
}

// limit adds a limit, which must be a constant above 0 unless zero is also no limit.
func (o *options) limit(n ast.Expr, zeroIsNone bool) {
	text := o.call.source(n)
	if t := o.call.pkg.TypesInfo.TypeOf(n); t != nil && !types.Identical(t, types.Typ[types.Int]) && !isUntyped(t) {
		text = "int(" + text + ")"
	}
	switch v, ok := o.call.value(n); {
	case ok && v > 0 && v <= 1<<31-1:
		o.fields = append(o.fields, "Limit: "+text)
	case ok && v <= 0 && zeroIsNone:
	case !ok && zeroIsNone:
		o.fields = append(o.fields, "Limit: max("+text+", 0)")
	default:
		o.why = "its size is not a constant above 0, and 0 is no limit for pinwheel"
	}
}

func isUntyped(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsUntyped != 0
}

// write replaces the call by New or Must with the options.
func (o *options) write(maker, typeArgs string) string {
	if o.why != "" {
		return o.why
	}
	c := o.call
	for _, arg := range c.expr.Args {
		if c.hasCall(arg) {
			return "an argument of the constructor uses a cache itself"
		}
	}
	c.replace(c.unit, c.expr.Pos(), c.expr.End(),
		"§"+maker+"(§Options["+typeArgs+"]{"+strings.Join(o.fields, ", ")+"})")
	return ""
}

// hasCall reports whether an expression calls a function or method of a library with a rule
// that is no option of a constructor.
func (c *call) hasCall(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if fn, ok := c.pkg.TypesInfo.Uses[id].(*types.Func); ok && libraryOf(fn) != nil && fn.Signature().Recv() != nil {
				found = true
			}
		}
		return true
	})
	return found
}

// typeArgs returns the type arguments of the cache that a constructor makes.
func (c *call) typeArgs() string {
	if len(c.types) > 0 {
		var list []string
		for _, t := range c.types {
			list = append(list, c.source(t))
		}
		return strings.Join(list, ", ")
	}
	return ""
}

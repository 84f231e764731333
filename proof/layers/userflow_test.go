package layers

import (
	"fmt"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

const (
	module    = "github.com/pinwheel-cache/pinwheel/"
	semaphore = "golang.org/x/sync/semaphore.Weighted"
)

// A program is the code of the library. The value of a variable, a field of any object of a type, a
// parameter, a result or a container is one node each. Labels flow from node to node: functions
// (*ssa.Function), types in an interface (*types.TypeName), lock and user.
type program struct {
	*ssa.Program
	functions   []*ssa.Function
	seen        map[*ssa.Function]bool
	next        map[any]map[any]bool
	labels      map[any]map[any]bool
	changed     bool
	closures    map[string]*closure
	insensitive map[ssa.CallInstruction][]*ssa.Function
	carry       map[types.Type]bool
}

type (
	lock   string // the name of a field that is a lock
	user   string // where a function of the user, or what has some, came from
	result struct {
		of any // a call, or a function
		i  int
	}
)

// toUser is the node of what users get.
const toUser = "to the user"

func load(t *testing.T, dir string, pkgs []string) *program {
	t.Helper()
	for i := range pkgs {
		pkgs[i] = module + pkgs[i]
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Dir:  dir,
	}, pkgs...)
	if err != nil || packages.PrintErrors(loaded) > 0 {
		t.Fatal(err)
	}
	loaded = slices.DeleteFunc(loaded, func(pkg *packages.Package) bool {
		return strings.Contains(pkg.PkgPath, "/testdata/") || strings.HasSuffix(pkg.PkgPath, "/settle")
	})
	prog, built := ssautil.Packages(loaded, 0)
	prog.Build()
	p := &program{Program: prog, seen: map[*ssa.Function]bool{}, next: map[any]map[any]bool{}, labels: map[any]map[any]bool{}, carry: map[types.Type]bool{}, closures: map[string]*closure{}}
	for _, pkg := range built {
		for _, member := range pkg.Members {
			switch member := member.(type) {
			case *ssa.Function:
				p.find(member)
			case *ssa.Type:
				if named, ok := member.Type().(*types.Named); ok {
					for m := range named.Methods() {
						p.find(prog.FuncValue(m))
					}
				}
			}
		}
	}
	return p
}

// find adds a function, and all to which it refers. Of generic functions there is one for all types.
func (p *program) find(f *ssa.Function) {
	if f == nil || p.seen[f] || f.Blocks == nil {
		return
	}
	p.seen[f] = true
	p.functions = append(p.functions, f)
	for instr := range instructions(f) {
		for _, op := range instr.Operands(nil) {
			if g, ok := (*op).(*ssa.Function); ok {
				p.find(origin(g))
			}
		}
	}
}

func instructions(f *ssa.Function) iter.Seq[ssa.Instruction] {
	return func(yield func(ssa.Instruction) bool) {
		for _, b := range f.Blocks {
			for _, instr := range b.Instrs {
				if !yield(instr) {
					return
				}
			}
		}
	}
}

func origin(f *ssa.Function) *ssa.Function {
	if o := f.Origin(); o != nil {
		return o
	}
	return f
}

func (p *program) label(node, label any) {
	var t types.Type
	switch n := node.(type) {
	case ssa.Value:
		t = n.Type()
	case result:
		if results := n.signature().Results(); n.i < results.Len() {
			t = results.At(n.i).Type()
		}
	}
	if t != nil && types.IsInterface(t) && t.Underlying().(*types.Interface).NumMethods() > 0 {
		switch l := label.(type) {
		case *ssa.Function:
			return
		case user:
			label = user(short(t))
		case *types.TypeName:
			if !has(l.Type(), t) {
				return
			}
		}
	}
	if p.labels[node][label] {
		return
	}
	p.changed = true
	if p.labels[node] == nil {
		p.labels[node] = map[any]bool{}
	}
	p.labels[node][label] = true
	for n := range p.next[node] {
		p.label(n, label)
	}
}

func (p *program) edge(from, to any) {
	if v, ok := from.(ssa.Value); ok && !p.carries(v.Type()) {
		return
	}
	if v, ok := to.(ssa.Value); ok && !p.carries(v.Type()) {
		return
	}
	if r, ok := to.(result); ok && !p.carries(r.signature().Results().At(r.i).Type()) {
		return
	}
	if from == to || p.next[from][to] {
		return
	}
	p.changed = true
	if p.next[from] == nil {
		p.next[from] = map[any]bool{}
	}
	p.next[from][to] = true
	for label := range p.labels[from] {
		p.label(to, label)
	}
}

func (r result) signature() *types.Signature {
	if f, ok := r.of.(*ssa.Function); ok {
		return f.Signature
	}
	if sig := r.of.(*ssa.Call).Common().Signature(); sig.Results().Len() > 0 {
		return sig
	}
	return types.NewSignatureType(nil, nil, nil, nil, types.NewTuple(types.NewParam(0, nil, "", r.of.(*ssa.Call).Type())), false)
}

// carries reports whether a value of a type may have functions.
func (p *program) carries(t types.Type) bool {
	if c, ok := p.carry[t]; ok {
		return c
	}
	p.carry[t] = false
	c := false
	switch u := types.Unalias(t).(type) {
	case *types.TypeParam:
	case *types.Named:
		_, isStruct := u.Underlying().(*types.Struct)
		c = isLock(u) || !(isStruct && ours(u.Obj().Pkg())) && p.carries(u.Underlying())
	case *types.Signature, *types.Interface:
		c = true
	case *types.Map:
		c = p.carries(u.Key()) || p.carries(u.Elem())
	case interface{ Elem() types.Type }:
		c = p.carries(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			c = c || p.carries(f.Type())
		}
	case *types.Tuple:
		for v := range u.Variables() {
			c = c || p.carries(v.Type())
		}
	}
	p.carry[t] = c
	return c
}

// node returns the node of a value.
func (p *program) node(v ssa.Value) any {
	switch v := v.(type) {
	case *ssa.FieldAddr:
		return p.field(v.X, v.Field)
	case *ssa.Field:
		return p.field(v.X, v.Field)
	case *ssa.Call:
		return result{v, 0}
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			return result{call, v.Index}
		}
	case *ssa.Function:
		p.label(v, origin(v))
	}
	return v
}

func (p *program) field(x ssa.Value, i int) any {
	named, _ := types.Unalias(deref(x.Type())).(*types.Named)
	if named != nil && !ours(named.Obj().Pkg()) {
		return p.node(x) // a struct of another module is one node
	}
	field := deref(x.Type()).Underlying().(*types.Struct).Field(i)
	node, name := field.Pos(), field.Name() // of all instances of a generic type
	if named != nil {
		name = named.Obj().Pkg().Name() + "." + named.Obj().Name() + "." + name
	}
	if isLock(deref(field.Type())) && (types.TypeString(deref(field.Type()), nil) != semaphore || field.Name() == "saving") { // the others are limits
		p.label(node, lock(name))
	}
	if named != nil && named.Obj().Exported() && field.Exported() && public(field.Pkg()) {
		p.fromUser(node, field.Type(), name)
	}
	return node
}

// fromUser labels a node that users set.
func (p *program) fromUser(node any, t types.Type, name string) {
	for {
		switch u := t.(type) {
		case *types.Alias:
			t = types.Unalias(u)
			continue
		case *types.TypeParam:
			return
		case *types.Named:
			if u.Obj().Name() == "Logger" {
				p.label(node, user("Logger"))
			}
			if u.Obj().Pkg() != nil && ours(u.Obj().Pkg()) && !(u.Obj().Exported() && public(u.Obj().Pkg())) {
				return
			}
		}
		switch u := t.Underlying().(type) {
		case *types.Signature:
			p.label(node, user(name))
			return
		case *types.Interface:
			p.label(node, user(short(t)))
			return
		case interface{ Elem() types.Type }:
			t = u.Elem()
		default:
			return
		}
	}
}

// flowThrough adds what the instructions of f move.
func (p *program) flowThrough(f *ssa.Function) {
	if isPublic(f) {
		for i, param := range f.Params {
			if i > 0 || f.Signature.Recv() == nil {
				p.fromUser(param, param.Type(), f.RelString(nil)+" "+param.Name())
			}
		}
		for i := range f.Signature.Results().Len() {
			p.edge(result{f, i}, toUser)
		}
	}
	for instr := range instructions(f) {
		switch instr := instr.(type) {
		case ssa.CallInstruction:
			p.flowCall(instr)
		case *ssa.Return:
			for i, r := range instr.Results {
				p.edge(p.node(r), result{f, i})
			}
		case *ssa.Store:
			p.edge(p.node(instr.Val), p.node(instr.Addr))
		case *ssa.MapUpdate:
			p.edge(p.node(instr.Value), p.node(instr.Map))
			p.edge(p.node(instr.Key), p.node(instr.Map))
		case *ssa.Send:
			p.edge(p.node(instr.X), p.node(instr.Chan))
		case *ssa.MakeClosure:
			fn := origin(instr.Fn.(*ssa.Function))
			p.label(instr, fn)
			for i, b := range instr.Bindings {
				p.edge(p.node(b), fn.FreeVars[i])
				p.edge(fn.FreeVars[i], p.node(b))
			}
		case *ssa.FieldAddr, *ssa.Field:
			p.node(instr.(ssa.Value))
		case *ssa.Alloc:
			if isLock(deref(instr.Type())) {
				p.label(instr, lock(f.RelString(nil)+"."+instr.Comment))
			}
		case ssa.Value:
			if m, ok := instr.(*ssa.MakeInterface); ok {
				switch t := types.Unalias(deref(m.X.Type())).(type) {
				case *types.TypeParam:
					p.label(instr, user("a key or value"))
				case *types.Named:
					p.label(instr, t.Obj())
				}
			}
			for _, op := range instr.(ssa.Instruction).Operands(nil) {
				if *op == nil {
					continue
				}
				from := p.node(*op)
				p.edge(from, p.node(instr))
				switch instr.(type) {
				case *ssa.IndexAddr, *ssa.Slice:
					p.edge(p.node(instr), from)
				}
			}
		}
	}
}

// A closure is a function, or one of the user's. env has what functions its parameters and captured
// variables are, as far as that is known; else they are all that flow there.
type closure struct {
	fn    *ssa.Function
	user  string          // or it is one of the user's
	typ   *types.TypeName // or a value of this type, which has methods
	env   map[ssa.Value][]*closure
	depth int
	id    int
	calls map[ssa.CallInstruction][]*closure
}

// bind returns the closure of a function: always the same one for the same env.
func (p *program) bind(fn *ssa.Function, env map[ssa.Value][]*closure) *closure {
	c := &closure{fn: fn, env: map[ssa.Value][]*closure{}}
	key := fmt.Sprintf("%p", fn)
	vars := []ssa.Value{}
	for _, v := range fn.Params {
		vars = append(vars, v)
	}
	for _, v := range fn.FreeVars {
		vars = append(vars, v)
	}
	for i, v := range vars {
		fs, ok := env[v]
		if !ok {
			continue
		}
		deep := slices.ContainsFunc(fs, func(f *closure) bool { return f.depth >= 4 })
		if deep {
			continue
		}
		slices.SortFunc(fs, func(a, b *closure) int { return a.id - b.id })
		fs = slices.Compact(fs)
		c.env[v] = fs
		key += fmt.Sprint(" ", i)
		for _, f := range fs {
			c.depth = max(c.depth, f.depth+1)
			key += fmt.Sprint(",", f.id)
		}
	}
	if old := p.closures[key]; old != nil {
		return old
	}
	c.id = len(p.closures)
	p.closures[key] = c
	return c
}

// other returns the closure of one of the user's functions, or of a type.
func (p *program) other(user string, typ *types.TypeName) *closure {
	key := fmt.Sprintf("%s%p", user, typ)
	if p.closures[key] == nil {
		p.closures[key] = &closure{user: user, typ: typ, id: len(p.closures)}
	}
	return p.closures[key]
}

// all returns what flows to a node.
func (p *program) all(node any, t types.Type) (all []*closure) {
	sig, _ := t.Underlying().(*types.Signature)
	for label := range p.labels[node] {
		switch label := label.(type) {
		case *ssa.Function:
			if sig == nil || label.Signature.Params().Len() == sig.Params().Len() && label.Signature.Results().Len() == sig.Results().Len() {
				all = append(all, p.bind(label, nil))
			}
		case user:
			all = append(all, p.other(string(label), nil))
		case *types.TypeName:
			if t == nil || !types.IsInterface(t) || has(label.Type(), t) {
				all = append(all, p.other("", label))
			}
		}
	}
	return all
}

// eval returns the functions that v may be, in the function of which env is. While labels flow, env is nil.
func (p *program) eval(v ssa.Value, env map[ssa.Value][]*closure, depth int) (all []*closure) {
	if env == nil || depth > 12 {
		return p.all(p.node(v), v.Type())
	}
	switch v := v.(type) {
	case *ssa.Function:
		return []*closure{p.bind(origin(v), nil)}
	case *ssa.MakeClosure:
		fn, captured := origin(v.Fn.(*ssa.Function)), map[ssa.Value][]*closure{}
		for i, b := range v.Bindings {
			if isCode(deref(b.Type())) {
				captured[fn.FreeVars[i]] = p.eval(b, env, depth+1)
			}
		}
		return []*closure{p.bind(fn, captured)}
	case *ssa.Parameter, *ssa.FreeVar:
		if fs, ok := env[v]; ok {
			return fs
		}
	case *ssa.UnOp:
		if v.Op == token.MUL && isCode(deref(v.X.Type())) {
			return p.eval(v.X, env, depth+1)
		}
	case *ssa.ChangeType:
		return p.eval(v.X, env, depth+1)
	case *ssa.ChangeInterface:
		return p.eval(v.X, env, depth+1)
	case *ssa.Phi:
		for _, e := range v.Edges {
			all = append(all, p.eval(e, env, depth+4)...)
		}
		return all
	case *ssa.Const:
		return nil
	case *ssa.Alloc:
		for _, use := range *v.Referrers() {
			if store, ok := use.(*ssa.Store); ok && store.Addr == v {
				all = append(all, p.eval(store.Val, env, depth+2)...)
			}
			if c, ok := use.(*ssa.MakeClosure); ok && assigns(c, v) {
				return p.all(p.node(v), v.Type())
			}
		}
		return all
	case *ssa.Call:
		if f := v.Common().StaticCallee(); f != nil && origin(f).Blocks != nil && isCode(v.Type()) {
			for _, c := range p.callees(v, env) {
				for _, b := range c.fn.Blocks {
					if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
						all = append(all, p.eval(ret.Results[0], c.env, depth+5)...)
					}
				}
			}
			return all
		}
	}
	return p.all(p.node(v), v.Type())
}

// assigns reports whether a closure assigns to a captured variable.
func assigns(c *ssa.MakeClosure, v ssa.Value) bool {
	variable := c.Fn.(*ssa.Function).FreeVars[slices.Index(c.Bindings, v)]
	return slices.ContainsFunc(*variable.Referrers(), func(use ssa.Instruction) bool {
		store, ok := use.(*ssa.Store)
		return ok && store.Addr == variable
	})
}

// bindArgs returns f, called with args.
func (p *program) bindArgs(f *closure, args []ssa.Value, env map[ssa.Value][]*closure) *closure {
	if f.fn == nil || env == nil {
		return f
	}
	with := maps.Clone(f.env)
	params := f.fn.Params
	if len(params) > len(args) {
		params = params[1:]
	}
	for i, param := range params {
		if isCode(param.Type()) {
			with[param] = p.eval(args[i], env, 0)
		}
	}
	return p.bind(f.fn, with)
}

// callees returns the functions that a call may call.
func (p *program) callees(call ssa.CallInstruction, env map[ssa.Value][]*closure) (all []*closure) {
	c := call.Common()
	if f := c.StaticCallee(); f != nil {
		f = origin(f)
		if f.Blocks != nil {
			callee := p.bind(f, nil)
			if m, ok := c.Value.(*ssa.MakeClosure); ok && env != nil {
				callee = p.eval(m, env, 0)[0]
			}
			return []*closure{p.bindArgs(callee, c.Args, env)}
		}
		if silent(f) {
			return nil
		}
		name := f.RelString(nil)
		if pkg := f.Pkg; f.Signature.Recv() == nil && (pkg.Pkg.Path() == "log/slog" || pkg.Pkg.Path() == "log") && strings.Contains("Debug Info Warn Error Print Printf Println Log LogAttrs", f.Name()) {
			all = append(all, p.other(name, nil))
		}
		for _, arg := range c.Args {
			if isFunc(arg.Type()) {
				if !later(f) {
					all = append(all, p.eval(arg, env, 0)...)
				}
				continue
			}
			if pkg := f.Pkg; pkg != nil && pkg.Pkg.Path() == "context" && short(arg.Type()) == "error" {
				continue
			}
			for _, value := range p.eval(arg, env, 0) {
				switch {
				case value.user != "":
					all = append(all, p.other(name+" of "+short(arg.Type()), nil))
				case value.fn != nil && isStruct(arg.Type()): // such as options
					all = append(all, value)
				case value.typ != nil:
					for _, m := range p.asked(f, value.typ, arg.Type()) {
						all = append(all, p.bind(m, nil))
					}
				}
			}
		}
		return all
	}
	if _, ok := c.Value.(*ssa.Builtin); ok {
		return nil
	}
	if !c.IsInvoke() {
		for _, f := range p.eval(c.Value, env, 0) {
			if f.typ == nil {
				all = append(all, p.bindArgs(f, c.Args, env))
			}
		}
		return all
	}
	named, _ := types.Unalias(c.Value.Type()).(*types.Named)
	_, hidden := types.Unalias(c.Value.Type()).(*types.TypeParam)
	hidden = hidden || named != nil && ours(named.Obj().Pkg()) && !named.Obj().Exported()
	if hidden { // any type with such a method
		for _, f := range p.functions {
			if f.Signature.Recv() != nil && f.Name() == c.Method.Name() && has(f.Signature.Recv().Type(), c.Value.Type()) {
				all = append(all, p.bindArgs(p.bind(f, nil), c.Args, env))
			}
		}
		return all
	}
	for _, value := range p.eval(c.Value, env, 0) {
		switch {
		case value.user != "":
			all = append(all, p.other(short(c.Value.Type())+"."+c.Method.Name(), nil))
		case value.typ != nil:
			for _, m := range p.method(value.typ, c.Method) {
				all = append(all, p.bindArgs(p.bind(m, nil), c.Args, env))
			}
		}
	}
	return all
}

// follow finds all closures that run, and whom they call.
func (p *program) follow() (all []*closure) {
	seen := map[*closure]bool{}
	add := func(cs []*closure) {
		for _, c := range cs {
			if c.fn != nil && !seen[c] {
				seen[c] = true
				all = append(all, c)
			}
		}
	}
	for _, f := range p.functions {
		if isPublic(f) || f.Name() == "init" {
			add([]*closure{p.bind(f, nil)})
		}
	}
	for label := range p.labels[toUser] {
		switch label := label.(type) {
		case *ssa.Function:
			add([]*closure{p.bind(label, nil)})
		case *types.TypeName:
			for _, m := range p.methods(label) {
				add([]*closure{p.bind(m, nil)})
			}
		}
	}
	for i := 0; i < len(all); i++ {
		c := all[i]
		c.calls = map[ssa.CallInstruction][]*closure{}
		for instr := range instructions(c.fn) {
			call, ok := instr.(ssa.CallInstruction)
			if !ok || isLockOp(call) || kept(c.fn, call) {
				continue
			}
			callees := p.callees(call, c.env)
			add(callees)
			if _, ok := call.(*ssa.Go); !ok {
				c.calls[call] = callees
			}
			if f := call.Common().StaticCallee(); f != nil && later(f) {
				for _, arg := range call.Common().Args {
					if isFunc(arg.Type()) {
						add(p.eval(arg, c.env, 0))
					}
				}
			}
		}
	}
	return all
}

// kept reports whether a call is one to the cache of kept errors, which has no function of the user.
func kept(f *ssa.Function, call ssa.CallInstruction) bool {
	callee := call.Common().StaticCallee()
	return callee != nil && f.Signature.Recv() != nil && callee.Signature.Recv() != nil &&
		short(deref(f.Signature.Recv().Type())) == "cache.negatives" && short(deref(callee.Signature.Recv().Type())) == "cache.Cache"
}

func isLockOp(call ssa.CallInstruction) bool {
	callee := call.Common().StaticCallee()
	return callee != nil && callee.Signature.Recv() != nil && isLock(deref(callee.Signature.Recv().Type()))
}

func (p *program) method(t *types.TypeName, m *types.Func) []*ssa.Function {
	obj, _, _ := types.LookupFieldOrMethod(t.Type(), true, m.Pkg(), m.Name())
	if f, ok := obj.(*types.Func); ok {
		if f := p.FuncValue(f.Origin()); f != nil && f.Blocks != nil {
			return []*ssa.Function{f}
		}
	}
	return nil
}

// methods returns the exported methods of a type.
func (p *program) methods(t *types.TypeName) (all []*ssa.Function) {
	for m := range types.NewMethodSet(types.NewPointer(t.Type())).Methods() {
		if f, ok := m.Obj().(*types.Func); ok && f.Exported() {
			all = append(all, p.method(t, f)...)
		}
	}
	return all
}

// asked returns the methods of t that a function of another module may call of an argument.
func (p *program) asked(f *ssa.Function, t *types.TypeName, arg types.Type) (all []*ssa.Function) {
	names := []string{"Error", "String", "LogValue", "Unwrap"}
	if f.Pkg.Pkg.Path() == "errors" {
		names = []string{"Is", "As", "Unwrap"}
	} else if i, ok := arg.Underlying().(*types.Interface); ok && i.NumMethods() > 0 && short(arg) != "error" {
		names = nil
		for m := range i.Methods() {
			names = append(names, m.Name())
		}
	}
	for _, m := range p.methods(t) {
		if slices.Contains(names, m.Name()) {
			all = append(all, m)
		}
	}
	return all
}

func (p *program) flowCall(call ssa.CallInstruction) {
	c := call.Common()
	to := func(i int) any {
		if v := call.Value(); v != nil {
			return result{v, i}
		}
		return nil
	}
	results := c.Signature().Results().Len()
	var functions []*ssa.Function
	var users []string
	for _, f := range p.callees(call, nil) {
		switch {
		case f.user != "":
			users = append(users, f.user)
		case f.fn != nil:
			functions = append(functions, f.fn)
		}
	}
	f := c.StaticCallee()
	switch b, builtin := c.Value.(*ssa.Builtin); {
	case builtin:
		if b.Name() == "recover" {
			p.label(to(0), user("a panic"))
		}
		for _, arg := range c.Args {
			p.edge(p.node(arg), p.node(c.Args[0]))
			p.edge(p.node(arg), to(0))
		}
		return
	case f != nil && origin(f).Blocks == nil:
		for _, arg := range c.Args {
			if later(f) && isFunc(arg.Type()) {
				continue
			}
			for i := range results {
				if passes(f, arg.Type(), c.Signature().Results().At(i).Type()) {
					p.edge(p.node(arg), to(i))
				}
			}
			if f.Signature.Recv() != nil {
				p.edge(p.node(arg), p.node(c.Args[0]))
			}
		}
		for _, g := range functions {
			for _, param := range g.Params {
				for _, arg := range c.Args {
					if !isFunc(arg.Type()) && g.Signature.Recv() == nil {
						p.edge(p.node(arg), param)
					}
				}
			}
		}
		return
	}
	for _, g := range functions {
		params := g.Params
		if c.IsInvoke() {
			params = params[1:]
		}
		for i, param := range params {
			if i < len(c.Args) {
				p.edge(p.node(c.Args[i]), param)
			}
		}
		for i := range results {
			p.edge(result{g, i}, to(i))
		}
	}
	for _, name := range users {
		for _, arg := range c.Args {
			p.edge(p.node(arg), toUser)
		}
		for i := range results {
			p.fromUser(to(i), c.Signature().Results().At(i).Type(), "what "+name+" returned")
		}
	}
}

// escape labels the parameters of functions that users got.
func (p *program) escape() {
	for label := range maps.Clone(p.labels[toUser]) {
		var functions []*ssa.Function
		switch label := label.(type) {
		case *ssa.Function:
			functions = []*ssa.Function{label}
		case *types.TypeName:
			functions = p.methods(label)
		}
		for _, f := range functions {
			for i, param := range f.Params {
				if i > 0 || f.Signature.Recv() == nil {
					p.fromUser(param, param.Type(), f.RelString(nil)+" "+param.Name())
				}
			}
			for i := range f.Signature.Results().Len() {
				p.edge(result{f, i}, toUser)
			}
		}
	}
}

func deref(t types.Type) types.Type {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		return ptr.Elem()
	}
	return t
}

func isFunc(t types.Type) bool { _, ok := t.Underlying().(*types.Signature); return ok }

// passes reports whether a result of a function of another module may be, or call, an argument.
func passes(f *ssa.Function, arg, result types.Type) bool {
	if s, ok := arg.Underlying().(*types.Slice); ok {
		arg = s.Elem()
	}
	switch i, isInterface := arg.Underlying().(*types.Interface); {
	case f.Pkg != nil && f.Pkg.Pkg.Path() == "context":
		return short(arg) == "context.Context" && short(result) != "error"
	case short(result) == "error":
		return isInterface && (i.NumMethods() == 0 || short(arg) == "error")
	}
	return true
}

// has reports whether a type has methods of the names of those of an interface.
func has(t, iface types.Type) bool {
	for m := range iface.Underlying().(*types.Interface).Methods() {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, m.Pkg(), m.Name()); obj == nil {
			return false
		}
	}
	return true
}

func isStruct(t types.Type) bool { _, ok := deref(t).Underlying().(*types.Struct); return ok }

// isCode reports whether a type is of a function or an interface.
func isCode(t types.Type) bool {
	_, param := types.Unalias(t).(*types.TypeParam)
	return !param && (isFunc(t) || types.IsInterface(t))
}

func isLock(t types.Type) bool {
	s := types.TypeString(t, nil)
	return s == "sync.Mutex" || s == "sync.RWMutex" || s == module+"internal/biased.Lock" || s == semaphore
}

func ours(pkg *types.Package) bool {
	return pkg != nil && strings.HasPrefix(pkg.Path()+"/", module)
}

func public(pkg *types.Package) bool { return ours(pkg) && !strings.Contains(pkg.Path(), "/internal/") }

// isPublic reports whether users call f.
func isPublic(f *ssa.Function) bool {
	obj, ok := f.Object().(*types.Func)
	if !ok || !obj.Exported() || !public(obj.Pkg()) {
		return false
	}
	recv := f.Signature.Recv()
	if recv == nil {
		return true
	}
	named, ok := types.Unalias(deref(recv.Type())).(*types.Named)
	return ok && named.Obj().Exported()
}

// silent reports whether a function of another module calls nothing of the user.
func silent(f *ssa.Function) bool {
	return f.Pkg == nil || slices.Contains(strings.Fields("sync/atomic reflect unsafe runtime"), f.Pkg.Pkg.Path())
}

// later reports whether f calls a function that it gets in another goroutine.
func later(f *ssa.Function) bool {
	return slices.Contains(strings.Fields("time.AfterFunc context.AfterFunc (*sync.WaitGroup).Go"), f.RelString(nil))
}

func short(t types.Type) string {
	if named, ok := types.Unalias(t).(*types.Named); ok {
		if named.Obj().Pkg() == nil {
			return named.Obj().Name()
		}
		return named.Obj().Pkg().Name() + "." + named.Obj().Name()
	}
	return t.String()
}

package layers

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
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

// underLocks are the functions of the user that may run under a lock, each with its reason. A name
// that ends with * is that of all that begin so.
var underLocks = []struct{ reason, names string }{
	{"One SaveFile runs at a time, and waits for the other one at most until its context ends.", `
		cache.Cache.saving: *`},
	{"WithoutCancel and what is derived from it call only Value of the context, and these calls none.", `
		flight.Flight.mu: context.WithoutCancel of context.Context
		flight.Flight.mu: context.WithCancelCause of context.Context
		flight.Flight.mu: context.WithDeadlineCause of context.Context
		flight.Flight.mu: context.Context`},
	{"Sessions begin one after another, so they dial one after another. Nobody else waits for it.", `
		redis.Redis.entering: *`},
	{"The sources of a ring tell the watcher one after another. Nobody but a source waits for it.", `
		gozero.merged.mu: *`},
	{"Samples are taken one after another. Who asks for a sample does not wait for one that is being taken.", `
		stats.sampler.mu: *`},
	{"These functions are the library's, which send on channels: a timer with a function of the user does not send.", `
		timingwheel.shard.mu: (*timingwheel.Timers).*`},
	{"Breaches, to be mended.", `
		cache.shard.lock: errors.As of error
		cache.budget.making: errors.As of error
		near.link.mu: near.Text.String
		near.link.mu: near.Options.Weigh
		near.link.mu: cache.Options.Weigh
		redis.Redis.mu: context.Context
		redis.Redis.mu: fmt.Errorf of []any
		redis.conns.mu: net.Conn.Close`},
}

// TestUserFunctionsUnderLocks lists which functions of the user run while a lock may be held, by
// all calls between its Lock and its Unlock.
//
// Catches: a function of the user that runs under a lock for which others wait.
func TestUserFunctionsUnderLocks(t *testing.T) {
	found := usersUnderLocks(t, "..", "cache/...", "timingwheel/...", "near", "near/redis", "near/gozero", "stats", "lru", "internal/...", "gozero/collection", "gozero/internal/...")
	maps.Copy(found, usersUnderLocks(t, "../../gozero", "gozero"))
	unused := map[string]bool{}
	var excepted []string
	for _, e := range underLocks {
		for name := range strings.SplitSeq(strings.TrimSpace(e.names), "\n") {
			excepted = append(excepted, strings.TrimSpace(name))
			unused[strings.TrimSpace(name)] = true
		}
	}
	for _, what := range slices.Sorted(maps.Keys(found)) {
		i := slices.IndexFunc(excepted, func(name string) bool {
			start, all := strings.CutSuffix(name, "*")
			return what == name || all && strings.HasPrefix(what, start)
		})
		if i < 0 {
			t.Errorf("under a lock runs a function of the user, %s, by these calls:\n%s", what, found[what])
			continue
		}
		delete(unused, excepted[i])
	}
	for name := range unused {
		t.Errorf("%s is an exception, but is not found", name)
	}
}

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

// usersUnderLocks returns the locks with the functions of the user that run under them, and the calls
// that lead there.
func usersUnderLocks(t *testing.T, dir string, pkgs ...string) map[string]string {
	t.Helper()
	p := load(t, dir, pkgs)
	for p.changed = true; p.changed; {
		p.changed = false
		for _, f := range p.functions {
			p.flowThrough(f)
		}
		p.escape()
	}
	found := map[string]string{}
	locks := map[lock]bool{}
	for _, labels := range p.labels {
		for label := range labels {
			if l, ok := label.(lock); ok {
				locks[l] = true
			}
		}
	}
	p.insensitive = map[ssa.CallInstruction][]*ssa.Function{}
	callers := map[*ssa.Function]map[*ssa.Function]bool{}
	closures := p.follow()
	for _, c := range closures {
		for call, fs := range c.calls {
			for _, f := range fs {
				if f.fn != nil && !slices.Contains(p.insensitive[call], f.fn) {
					p.insensitive[call] = append(p.insensitive[call], f.fn)
					if callers[f.fn] == nil {
						callers[f.fn] = map[*ssa.Function]bool{}
					}
					callers[f.fn][c.fn] = true
				}
			}
		}
	}
	for l := range locks {
		p.hold(l, closures, callers, found)
	}
	return found
}

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
	for _, b := range f.Blocks {
		for _, instr := range b.Instrs {
			for _, op := range instr.Operands(nil) {
				if g, ok := (*op).(*ssa.Function); ok {
					p.find(origin(g))
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
	for _, b := range f.Blocks {
		for _, instr := range b.Instrs {
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
}

// A closure is a function, or one of the user's. env has what functions its parameters and captured
// variables are, as far as that is known; else they are all that flow there.
type closure struct {
	fn    *ssa.Function
	user  string
	typ   *types.TypeName
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

func (p *program) userFunction(name string) *closure {
	if p.closures[name] == nil {
		p.closures[name] = &closure{user: name, id: len(p.closures)}
	}
	return p.closures[name]
}

func (p *program) typed(t *types.TypeName) *closure {
	key := fmt.Sprintf("%p", t)
	if p.closures[key] == nil {
		p.closures[key] = &closure{typ: t, id: len(p.closures)}
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
			all = append(all, p.userFunction(string(label)))
		case *types.TypeName:
			if t == nil || !types.IsInterface(t) || has(label.Type(), t) {
				all = append(all, p.typed(label))
			}
		}
	}
	return all
}

// eval returns the functions that v may be, in the function of which env is. It is nil while labels flow.
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
			all = append(all, p.userFunction(name))
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
					all = append(all, p.userFunction(name+" of "+short(arg.Type())))
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
			all = append(all, p.userFunction(short(c.Value.Type())+"."+c.Method.Name()))
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
		for _, b := range c.fn.Blocks {
			for _, instr := range b.Instrs {
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

// States of a lock, as bits.
const (
	free = 1 << iota
	held
)

// hold adds to found what is called while l may be held.
func (p *program) hold(l lock, closures []*closure, callers map[*ssa.Function]map[*ssa.Function]bool, found map[string]string) {
	// Only functions that call its methods, or that call such functions, change its state.
	relevant := map[*ssa.Function]bool{}
	var mark func(f *ssa.Function)
	mark = func(f *ssa.Function) {
		if !relevant[f] {
			relevant[f] = true
			for c := range callers[f] {
				mark(c)
			}
		}
	}
	for _, f := range p.functions {
		for _, b := range f.Blocks {
			for _, instr := range b.Instrs {
				if call, ok := instr.(ssa.CallInstruction); ok && isLockOp(call) && p.labels[p.node(call.Common().Args[0])][l] {
					mark(f)
				}
			}
		}
	}
	after := map[*ssa.Function][3]int{} // by the state before
	for _, f := range p.functions {
		if !relevant[f] {
			after[f] = [3]int{0, free, held}
		}
	}
	type start struct {
		f      *ssa.Function
		before int
	}
	during := map[start]map[ssa.CallInstruction]bool{}
	for changed := true; changed; {
		changed = false
		for _, f := range p.functions {
			if !relevant[f] {
				continue
			}
			for _, before := range []int{free, held} {
				calls := map[ssa.CallInstruction]bool{}
				out := p.states(f, l, before, after, func(call ssa.CallInstruction) { calls[call] = true })
				during[start{f, before}] = calls
				if a := after[f]; a[before] != out {
					a[before] = out
					after[f] = a
					changed = true
				}
			}
		}
	}
	path := map[*closure]string{}
	var todo []*closure
	visit := func(at *closure, before int) {
		for call, callees := range at.calls {
			if relevant[at.fn] && !during[start{at.fn, before}][call] || !relevant[at.fn] && before == free {
				continue
			}
			here := strings.ReplaceAll(fmt.Sprintf("%s  %s (%s)\n", path[at], at.fn.RelString(nil), p.position(call)), module, "")
			for _, f := range callees {
				switch key := strings.ReplaceAll(string(l)+": "+f.user, module, ""); {
				case f.user != "" && (found[key] == "" || len(here) < len(found[key])):
					found[key] = here
				case f.fn != nil && path[f] == "":
					path[f] = here
					todo = append(todo, f)
				}
			}
		}
	}
	for _, c := range closures {
		if relevant[c.fn] {
			p := path[c]
			path[c] = ""
			visit(c, free)
			path[c] = p
		}
	}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		visit(at, held)
	}
}

func (p *program) position(call ssa.CallInstruction) string {
	at := p.Fset.Position(call.Common().Pos())
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}

// states returns the states of a lock at the end of f, from one at its begin. It calls each for
// calls while it may be held.
func (p *program) states(f *ssa.Function, l lock, before int, after map[*ssa.Function][3]int, each func(ssa.CallInstruction)) (out int) {
	in := make([]int, len(f.Blocks))
	in[0] = before
	apply := func(call ssa.CallInstruction, state int) int {
		if callee := call.Common().StaticCallee(); callee != nil && len(call.Common().Args) > 0 {
			if isLockOp(call) {
				if !p.labels[p.node(call.Common().Args[0])][l] {
					return state
				}
				switch name := callee.Name(); {
				case strings.HasPrefix(name, "Try"):
					return free | held
				case strings.Contains(name, "Unlock"), name == "Release":
					return free
				case strings.Contains(name, "Lock"):
					return held
				case name == "Acquire":
					return free | held // as its error says
				}
				return state
			}
		}
		if state&held != 0 && each != nil {
			each(call)
		}
		functions := p.insensitive[call]
		if len(functions) == 0 {
			return state
		}
		if l == "cache.budget.making" && functions[0].Name() == "endStore" {
			return free // a field tells whether it is held
		}
		out := 0
		for _, g := range functions {
			for _, bit := range []int{free, held} {
				if state&bit != 0 {
					out |= after[g][bit]
				}
			}
		}
		return out
	}
	var deferred []*ssa.Defer
	for _, b := range f.Blocks {
		for _, instr := range b.Instrs {
			if d, ok := instr.(*ssa.Defer); ok {
				deferred = append(deferred, d)
			}
		}
	}
	for todo := []*ssa.BasicBlock{f.Blocks[0]}; len(todo) > 0; {
		b := todo[0]
		todo = todo[1:]
		state := in[b.Index]
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Call:
				state = apply(instr, state)
			case *ssa.RunDefers:
				for _, d := range slices.Backward(deferred) {
					out := apply(d, state)
					if !d.Block().Dominates(b) {
						out |= state
					}
					state = out
				}
			case *ssa.Return:
				out |= state
			}
		}
		tells := -1 // the branch on which a call has said that it took the lock
		if branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok && state == free|held {
			if call, yes := result1(branch.Cond); call != nil && p.mayTake(call, l, after) {
				tells = yes
			}
		}
		for i, next := range b.Succs {
			state := state
			if tells >= 0 {
				state = []int{held, free}[(i+tells)%2]
			}
			if in[next.Index]|state != in[next.Index] {
				in[next.Index] |= state
				todo = append(todo, next)
			}
		}
	}
	return out
}

// mayTake reports whether a call may take l, and says so by true or by no error.
func (p *program) mayTake(call *ssa.Call, l lock, after map[*ssa.Function][3]int) bool {
	if isLockOp(call) {
		name := call.Common().StaticCallee().Name()
		return (strings.HasPrefix(name, "Try") || name == "Acquire") && p.labels[p.node(call.Common().Args[0])][l]
	}
	f := call.Common().StaticCallee()
	return f != nil && after[origin(f)][free] == free|held
}

// result1 returns the call that a condition asks for success, and the branch taken then.
func result1(cond ssa.Value) (*ssa.Call, int) {
	switch v := cond.(type) {
	case *ssa.Call:
		return v, 0
	case *ssa.Extract:
		call, _ := v.Tuple.(*ssa.Call)
		return call, 0
	case *ssa.UnOp:
		call, yes := result1(v.X)
		return call, 1 - yes
	case *ssa.BinOp:
		if c, ok := v.Y.(*ssa.Const); ok && c.IsNil() {
			call, _ := result1(v.X)
			if v.Op == token.EQL {
				return call, 0
			}
			return call, 1
		}
	}
	return nil, 0
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

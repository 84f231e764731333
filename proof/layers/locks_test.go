package layers

import (
	"fmt"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// underLocks are the functions of the user that may run under a lock, each with its reason, as patterns
// of path.Match, with dots for slashes.
var underLocks = []struct{ reason, names string }{
	{"One SaveFile runs at a time, and waits for the other one at most until its context ends.", `
		cache.Cache.saving: *`},
	{"Sessions begin one after another, so they dial one after another. Nobody else waits for it.", `
		redis.sessions.entering: *`},
	{"A timer with a function of the user is not sent under a lock: only those of the library are, which send on channels.", `
		*: timingwheel.Timers.*`},
	{"The context with which the library waits for room is context.Background.", `
		*: context.Cause of context.Context
		*: context.Context.Done`},
	{"The library makes the cipher of a recording.", `
		*: cipher.Block.Encrypt`},
	{"Breaches, to be mended.", `
		cache.shard.lock: errors.As of error
		cache.budget.making: errors.As of error
		near.link.mu: near.Text.String
		near.link.mu: near.Coverer.Covers
		near.link.mu: near.Options.Weigh
		near.link.mu: cache.Options.Weigh
		redis.Redis.mu: context.Context.Err
		redis.clients.mu: fmt.Errorf of error
		redis.clients.mu: rueidis.Client.B
		redis.sessions.mu: fmt.Errorf of error
		redis.conns.mu: net.Conn.Close`},
}

// TestUserFunctionsUnderLocks lists which functions of the user run while a lock may be held, by
// all calls between its Lock and its Unlock.
//
// Catches: a function of the user that runs under a lock for which others wait.
func TestUserFunctionsUnderLocks(t *testing.T) {
	found := usersUnderLocks(t)
	unused := map[string]bool{}
	var excepted []string
	for _, e := range underLocks {
		for name := range strings.SplitSeq(strings.TrimSpace(e.names), "\n") {
			excepted = append(excepted, strings.TrimSpace(name))
			unused[strings.TrimSpace(name)] = true
		}
	}
	for _, what := range slices.Sorted(maps.Keys(found)) {
		i := slices.IndexFunc(excepted, func(pattern string) bool {
			ok, _ := path.Match(pattern, strings.ReplaceAll(what, "/", "."))
			return ok
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

// A graph has all functions of the library and of a program that uses it, whom each call calls by
// the flow of types and functions, and what each does with the locks.
type graph struct {
	functions []*ssa.Function
	callees   map[ssa.CallInstruction][]*ssa.Function
	locks     []string                   // a lock is one, whichever object it is of
	effects   map[*ssa.Function][2]state // the state after a function, if all locks are free before it, or held
	closures  map[string]*closure
	asking    map[ssa.Value]bool
	running   []*closure
}

// A state says by a bit for each lock whether it may be held, and whether it may be free.
type state struct{ held, free uint64 }

const all = ^uint64(0)

func (s state) or(o state) state { return state{s.held | o.held, s.free | o.free} }

// after returns the state after a function with these effects.
func (s state) after(e [2]state) state {
	return state{s.free&e[0].held | s.held&e[1].held, s.free&e[0].free | s.held&e[1].free}
}

// usersUnderLocks returns the locks with the functions of the user that run under them, and the calls
// that lead there.
func usersUnderLocks(t *testing.T) map[string]string {
	t.Helper()
	g := newGraph(t)
	for changed := true; changed; {
		changed = false
		for _, f := range g.functions {
			now := [2]state{g.through(f, state{free: all}, nil), g.through(f, state{held: all}, nil)}
			changed = changed || now != g.effects[f]
			g.effects[f] = now
		}
	}
	found := map[string]string{}
	for i, lock := range g.locks {
		g.under(1<<i, func(f, calls string) {
			if what := lock + ": " + f; found[what] == "" {
				found[what] = calls
			}
		})
	}
	return found
}

func newGraph(t *testing.T) *graph {
	pkgs := load(t, "..", module+"cache/...", module+"timingwheel/...", module+"near", module+"near/redis", module+"stats", module+"internal/...")
	pkgs = slices.DeleteFunc(pkgs, func(pkg *packages.Package) bool {
		return pkg.Name == "main" || strings.HasSuffix(pkg.PkgPath, "test") || strings.HasSuffix(pkg.PkgPath, "/settle")
	})
	prog, _ := ssautil.Packages(append(pkgs, userOf(t, pkgs)), ssa.InstantiateGenerics)
	prog.Build()
	functions := ssautil.AllFunctions(prog)
	g := &graph{callees: map[ssa.CallInstruction][]*ssa.Function{}, effects: map[*ssa.Function][2]state{}, closures: map[string]*closure{}, asking: map[ssa.Value]bool{}}
	for f := range functions {
		if f.Blocks != nil && f.TypeParams().Len() == len(f.TypeArgs()) {
			g.functions = append(g.functions, f)
		}
	}
	slices.SortFunc(g.functions, func(a, b *ssa.Function) int { return strings.Compare(a.String(), b.String()) })
	for _, node := range vta.CallGraph(functions, nil).Nodes {
		for _, e := range node.Out {
			if !slices.Contains(g.callees[e.Site], e.Callee.Func) {
				g.callees[e.Site] = append(g.callees[e.Site], e.Callee.Func)
			}
		}
	}
	g.run()
	return g
}

// under calls each for the functions of the user that run while a lock may be held.
func (g *graph) under(lock uint64, each func(f, calls string)) {
	calls := map[*closure]string{}
	var todo []*closure
	visit := func(c *closure, before state, from string) {
		g.through(c.fn, before, func(call ssa.CallInstruction, s state) {
			if s.held&lock == 0 {
				return
			}
			at := c.fn.Prog.Fset.Position(call.Pos())
			here := fmt.Sprintf("%s  %s (%s:%d)\n", from, short(c.fn.RelString(nil)), filepath.Base(at.Filename), at.Line)
			for _, name := range outside(call) {
				each(name, here)
			}
			for _, callee := range c.callees[call] {
				if callee.ofUser() {
					each(strings.ReplaceAll(callee.fn.Name(), "_", "."), here)
				} else if calls[callee] == "" {
					calls[callee] = here
					todo = append(todo, callee)
				}
			}
		})
	}
	for _, c := range g.running {
		visit(c, state{free: all}, "")
	}
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		visit(c, state{held: lock, free: all &^ lock}, calls[c])
	}
}

// through returns the state at the end of f, from that at its begin. It calls each, if not nil, for calls.
func (g *graph) through(f *ssa.Function, before state, each func(ssa.CallInstruction, state)) (out state) {
	if f.Blocks == nil {
		return before
	}
	apply := func(call ssa.CallInstruction, s state) state {
		if each != nil {
			each(call, s)
		}
		return g.apply(call, s)
	}
	in := make([]state, len(f.Blocks))
	in[0] = before
	for todo := []*ssa.BasicBlock{f.Blocks[0]}; len(todo) > 0; {
		b := todo[0]
		todo = todo[1:]
		s := in[b.Index]
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Call:
				s = apply(instr, s)
			case *ssa.RunDefers:
				for _, d := range slices.Backward(defers(f)) {
					after := apply(d, s)
					if !d.Block().Dominates(b) {
						after = after.or(s)
					}
					s = after
				}
			case *ssa.Return:
				out = out.or(s)
			}
		}
		for i, next := range b.Succs {
			if after := in[next.Index].or(g.branch(b, i, s)); after != in[next.Index] {
				in[next.Index] = after
				todo = append(todo, next)
			}
		}
	}
	return out
}

func defers(f *ssa.Function) (all []*ssa.Defer) {
	for call := range instructions(f) {
		if d, ok := call.(*ssa.Defer); ok {
			all = append(all, d)
		}
	}
	return all
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

// apply returns the state after a call.
func (g *graph) apply(call ssa.CallInstruction, s state) (out state) {
	if lock := lockOf(call); lock != "" {
		bit := g.bit(lock)
		switch name := call.Common().StaticCallee().Name(); {
		case strings.HasPrefix(name, "Try"), name == "Acquire": // as the result says
			return state{s.held | bit, s.free | bit}
		case strings.Contains(name, "Unlock"), name == "Release":
			return state{s.held &^ bit, s.free | bit}
		case strings.Contains(name, "Lock"):
			return state{s.held | bit, s.free &^ bit}
		}
		return s
	}
	known := false
	for _, f := range g.callees[call] {
		if f.Blocks != nil {
			known = true
			out = out.or(s.after(g.effects[f]))
		}
	}
	if !known {
		return s
	}
	if f := call.Common().StaticCallee(); f != nil && f.Name() == "endStore" { // a field tells whether it is held
		making := g.bit("cache.budget.making")
		return state{out.held &^ making, out.free | making}
	}
	return out
}

func (g *graph) bit(lock string) uint64 {
	i := slices.Index(g.locks, lock)
	if i < 0 {
		i = len(g.locks)
		g.locks = append(g.locks, lock)
	}
	return 1 << i
}

// branch returns the state on the i-th branch at the end of b. If a call may return with a lock or
// without it, true or no error says that it holds it, as with TryLock.
func (g *graph) branch(b *ssa.BasicBlock, i int, s state) state {
	branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return s
	}
	call, yes := asked(branch.Cond)
	if call == nil {
		return s
	}
	after := g.apply(call, state{free: all})
	told := after.held & after.free & s.held & s.free
	if i == yes {
		return state{s.held, s.free &^ told}
	}
	return state{s.held &^ told, s.free}
}

// asked returns the call that a condition asks for success, and the branch taken then.
func asked(cond ssa.Value) (*ssa.Call, int) {
	switch v := cond.(type) {
	case *ssa.Call:
		return v, 0
	case *ssa.Extract:
		call, _ := v.Tuple.(*ssa.Call)
		return call, 0
	case *ssa.UnOp:
		call, yes := asked(v.X)
		return call, 1 - yes
	case *ssa.BinOp:
		if c, ok := v.Y.(*ssa.Const); ok && c.IsNil() {
			call, _ := asked(v.X)
			if v.Op == token.EQL {
				return call, 0
			}
			return call, 1
		}
	}
	return nil, 0
}

// lockOf returns the name of the lock of which a call calls a method, or "".
func lockOf(call ssa.CallInstruction) string {
	f := call.Common().StaticCallee()
	if f == nil || f.Signature.Recv() == nil {
		return ""
	}
	typ := short(types.TypeString(deref(f.Signature.Recv().Type()), nil))
	if !slices.Contains([]string{"sync.Mutex", "sync.RWMutex", "internal/biased.Lock", "golang.org/x/sync/semaphore.Weighted"}, typ) {
		return ""
	}
	recv := call.Common().Args[0]
	if load, ok := recv.(*ssa.UnOp); ok {
		recv = load.X
	}
	name := call.Parent().Name() + "." + recv.Name()
	if field, ok := recv.(*ssa.FieldAddr); ok {
		name = deref(field.X.Type()).Underlying().(*types.Struct).Field(field.Field).Name()
		if named, ok := deref(field.X.Type()).(*types.Named); ok {
			name = named.Obj().Pkg().Name() + "." + named.Obj().Name() + "." + name
		}
	}
	if strings.HasSuffix(typ, "Weighted") && name != "cache.Cache.saving" {
		return "" // a limit
	}
	return name
}

// outside returns the functions of the user that a call calls, but for those of the program: methods of an
// interface that users may implement, and what a function of another module calls of its arguments.
func outside(call ssa.CallInstruction) (names []string) {
	c := call.Common()
	if c.IsInvoke() && forUsers(c.Value.Type()) {
		return []string{base(c.Value.Type()) + "." + c.Method.Name()}
	}
	f := c.StaticCallee()
	if f == nil || f.Blocks != nil || f.Pkg == nil || slices.Contains(strings.Fields("sync/atomic reflect runtime"), f.Pkg.Pkg.Path()) {
		return nil
	}
	for _, arg := range slices.Concat(c.Args, variadic(c)) {
		_, made := arg.(*ssa.MakeInterface)
		_, constant := arg.(*ssa.Const)
		if i, ok := arg.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 && !made && !constant && forUsers(arg.Type()) {
			names = append(names, short(f.RelString(nil))+" of "+base(arg.Type()))
		}
	}
	return names
}

// variadic returns the interfaces among the last arguments of a call.
func variadic(c *ssa.CallCommon) (all []ssa.Value) {
	if len(c.Args) == 0 || !c.Signature().Variadic() {
		return nil
	}
	slice, ok := c.Args[len(c.Args)-1].(*ssa.Slice)
	if !ok {
		return nil
	}
	for _, use := range *slice.X.Referrers() {
		if at, ok := use.(*ssa.IndexAddr); ok {
			for _, use := range *at.Referrers() {
				if store, ok := use.(*ssa.Store); ok {
					if from, ok := store.Val.(*ssa.ChangeInterface); ok {
						all = append(all, from.X)
					}
				}
			}
		}
	}
	return all
}

// forUsers reports whether users may implement an interface.
func forUsers(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return true
	}
	return named.Obj().Exported() && named.Obj().Pkg().Path() != "reflect" && !strings.Contains(named.Obj().Pkg().Path(), "/internal/")
}

func base(t types.Type) string {
	return types.TypeString(t, func(pkg *types.Package) string { return pkg.Name() })
}

func short(name string) string { return strings.ReplaceAll(name, module, "") }

func deref(t types.Type) types.Type {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		return ptr.Elem()
	}
	return t
}

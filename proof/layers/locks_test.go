package layers

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
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

// underLocks are the functions of the user that may run under a lock, each with its reason.
var underLocks = []struct{ lock, functions, reason string }{
	{"flight.Flight.mu", "context.WithoutCancel of context.Context, context.WithCancelCause of context.Context, context.WithDeadlineCause of context.Context, context.WithDeadlineCause of error",
		"Of a context without cancel these call only Value, for a key of package context, and of an error nothing."},
	{"gozero.merged.mu", "near.Watcher.ChangedAll, near.KeyWatcher.ChangedIf, near.KeyWatcher.Except, near.LagWatcher.MaxLag, near.Coverer.Covers, near.ChangedIf.changed, near.Except.untold, near.Text.Parse, near.Text.String, near.Options.Weigh, cache.Options.Weigh, fmt.Errorf of error, logx.Errorf of error, cache.Options.ExpireBy, fmt.Errorf of reflect.Type",
		"The sources of a ring tell the watcher and the log one after another. Nobody but a source waits for it."},
	{"near.link.mu", "near.Options.Weigh, cache.Options.Weigh, cache.Options.ExpireBy",
		"What stands in is in a cache without these."},
	{"redis.sessions.entering", "rueidis.NewClient of rueidis.ClientOption, fmt.Errorf of error",
		"Sessions begin one after another, so they dial one after another. Nobody else waits for it."},
	{"stats.sampler.mu", "near.LocalOptions.Amend, near.PartialSource.Partial",
		"Samples are taken one after another. Who asks for a sample does not wait for one that is being taken."},
	{"timingwheel.shard.mu", "timingwheel.Timers.AfterFunc.f, timingwheel.Timers.At.f, timingwheel.Timers.Every.f, timingwheel.Timers.EveryFrom.f, timingwheel.Timers.Repeat.f, timingwheel.Timers.Schedule.f",
		"A timer with a function of the user is not sent under the lock: only those of the library are, which send on channels."},
}

// TestUserFunctionsUnderLocks lists which functions of the user run while a lock may be held, by
// all calls between its Lock and its Unlock.
//
// Catches: a function of the user that runs under a lock for which others wait.
func TestUserFunctionsUnderLocks(t *testing.T) {
	found := usersUnderLocks(t)
	for _, e := range underLocks {
		for f := range strings.SplitSeq(e.functions, ", ") {
			what := e.lock + ": " + f
			if found[what] == "" {
				t.Errorf("%s is an exception, but is not found", what)
			}
			delete(found, what)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("under a lock runs a function of the user, %s, by these calls:\n%s", what, found[what])
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
	given     map[string]bool // types of which users give values
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
			c := &closure{fn: f}
			now := [2]state{g.through(c, state{free: all}, nil), g.through(c, state{held: all}, nil)}
			changed = changed || now != g.effects[f]
			g.effects[f] = now
		}
	}
	found := map[string]string{}
	if len(g.locks) > 64 {
		t.Fatal("a state has too few bits for", g.locks)
	}
	for i := range g.locks {
		g.under(i, found)
	}
	return found
}

func newGraph(t *testing.T) *graph {
	var patterns []string
	for pattern := range strings.FieldsSeq("cache/... timingwheel/... near near/redis near/gozero stats lru internal/... gozero/collection gozero/internal/...") {
		patterns = append(patterns, module+pattern)
	}
	user := userOf(load(t, "..", nil, patterns...))
	file, err := filepath.Abs("user/user.go")
	if err != nil {
		t.Fatal(err)
	}
	pkgs := load(t, "..", map[string][]byte{file: user.source()}, append(patterns, "./layers/user")...)
	prog, _ := ssautil.Packages(slices.DeleteFunc(pkgs, func(pkg *packages.Package) bool { // those for tests
		return pkg.Name == "main" || strings.HasSuffix(pkg.PkgPath, "test") || strings.HasSuffix(pkg.PkgPath, "/settle")
	}), ssa.InstantiateGenerics)
	prog.Build()
	functions := ssautil.AllFunctions(prog)
	g := &graph{callees: map[ssa.CallInstruction][]*ssa.Function{}, effects: map[*ssa.Function][2]state{}, closures: map[string]*closure{}, asking: map[ssa.Value]bool{}, given: user.given}
	for f := range functions {
		if f.Blocks != nil && f.TypeParams().Len() == len(f.TypeArgs()) {
			g.functions = append(g.functions, f)
		}
	}
	slices.SortFunc(g.functions, func(a, b *ssa.Function) int { return strings.Compare(a.String(), b.String()) })
	for _, node := range vta.CallGraph(functions, nil).Nodes {
		for _, e := range node.Out {
			if f := e.Callee.Func; f.Blocks != nil && !slices.Contains(g.callees[e.Site], f) {
				g.callees[e.Site] = append(g.callees[e.Site], f)
			}
		}
	}
	g.run()
	return g
}

// under adds the functions of the user that run while a lock may be held.
func (g *graph) under(i int, found map[string]string) {
	lock := uint64(1) << i
	calls := map[*closure]string{}
	var todo []*closure
	visit := func(c *closure, before state, from string) {
		g.through(c, before, func(call ssa.CallInstruction, s state) {
			if s.held&lock == 0 {
				return
			}
			at := c.fn.Prog.Fset.Position(call.Pos())
			here := fmt.Sprintf("%s  %s (%s:%d)\n", from, short(c.fn.RelString(nil)), filepath.Base(at.Filename), at.Line)
			names := g.outside(call, c)
			for _, callee := range c.callees[call] {
				if ofUser(callee.fn) {
					names = append(names, userName.Replace(callee.fn.RelString(nil)))
				} else if calls[callee] == "" {
					calls[callee] = here
					todo = append(todo, callee)
				}
			}
			for _, name := range names {
				found[g.locks[i]+": "+name] = cmp.Or(found[g.locks[i]+": "+name], here)
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

// through returns the state at the end of c, from that at its begin. It calls each, if not nil, for calls.
func (g *graph) through(c *closure, before state, each func(ssa.CallInstruction, state)) (out state) {
	f := c.fn
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
				for _, deferred := range slices.Backward(instructions(f)) {
					if d, ok := deferred.(*ssa.Defer); ok {
						after := apply(d, s)
						if !d.Block().Dominates(b) {
							after = after.or(s)
						}
						s = after
					}
				}
			case *ssa.Return:
				out = out.or(s)
			}
		}
		for i, next := range b.Succs {
			if after := in[next.Index].or(g.branch(c, b, i, s)); after != in[next.Index] {
				in[next.Index] = after
				todo = append(todo, next)
			}
		}
	}
	return out
}

func instructions(f *ssa.Function) (all []ssa.Instruction) {
	for _, b := range f.Blocks {
		all = append(all, b.Instrs...)
	}
	return all
}

// apply returns the state after a call.
func (g *graph) apply(call ssa.CallInstruction, s state) (out state) {
	if lock := lockOf(call); lock != "" {
		bit := g.bit(lock)
		switch name := call.Common().StaticCallee().Name(); {
		case strings.HasPrefix(name, "Try"): // as the result says
			return state{s.held | bit, s.free | bit}
		case strings.Contains(name, "Unlock"):
			return state{s.held &^ bit, s.free | bit}
		case strings.Contains(name, "Lock"):
			return state{s.held | bit, s.free &^ bit}
		}
		return s
	}
	if len(g.callees[call]) == 0 {
		return s
	}
	for _, f := range g.callees[call] {
		out = out.or(s.after(g.effects[f]))
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

// branch returns the state of c on the i-th branch at the end of b: none if that is for a function that
// is not nil, and the one asked for is. If a call may return with a lock or without it, true or no error
// says that it holds it, as with TryLock.
func (g *graph) branch(c *closure, b *ssa.BasicBlock, i int, s state) state {
	branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return s
	}
	if is, ok := branch.Cond.(*ssa.BinOp); ok && g.value(is.X, c) == nobody && g.value(is.Y, c) == nobody {
		if (is.Op == token.EQL) != (i == 0) {
			return state{}
		}
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
func asked(cond ssa.Value) (call *ssa.Call, yes int) {
	if not, ok := cond.(*ssa.UnOp); ok {
		cond, yes = not.X, 1
	}
	if result, ok := cond.(*ssa.Extract); ok {
		cond = result.Tuple
	}
	call, _ = cond.(*ssa.Call)
	return call, yes
}

// lockOf returns the name of the lock of which a call calls a method, or "".
func lockOf(call ssa.CallInstruction) string {
	f := call.Common().StaticCallee()
	if f == nil || f.Signature.Recv() == nil {
		return ""
	}
	typ := base(deref(f.Signature.Recv().Type()))
	if !slices.Contains(strings.Fields("sync.Mutex sync.RWMutex biased.Lock"), typ) {
		return ""
	}
	recv := call.Common().Args[0]
	if load, ok := recv.(*ssa.UnOp); ok {
		recv = load.X
	}
	name := call.Parent().Name() + "." + recv.Name()
	if field, ok := recv.(*ssa.FieldAddr); ok {
		object := deref(field.X.Type())
		name, _, _ = strings.Cut(base(object), "[")
		name += "." + object.Underlying().(*types.Struct).Field(field.Field).Name()
	}
	return name
}

// outside returns what a function of another module, called by c, gets from the user, whose functions it may call.
// It also returns methods of interfaces of the API that nothing takes: users implement them if they like.
func (g *graph) outside(call ssa.CallInstruction, c *closure) (names []string) {
	if call.Common().IsInvoke() {
		named, _ := call.Common().Value.Type().(*types.Named)
		if named != nil && named.Obj().Exported() && public(named.Obj().Pkg()) && !g.given[types.TypeString(named, nil)] {
			names = append(names, base(named)+"."+call.Common().Method.Name())
		}
		return names
	}
	f := call.Common().StaticCallee()
	if f == nil || f.Blocks != nil || f.Pkg == nil || f.Pkg.Pkg.Path() == "reflect" {
		return nil
	}
	args := slices.Clone(call.Common().Args)
	for _, instr := range call.Block().Instrs { // what variadic functions get is converted in the same block
		if converted, ok := instr.(*ssa.ChangeInterface); ok && f.Signature.Variadic() {
			args = append(args, converted.X)
		}
	}
	for _, arg := range args {
		_, made := arg.(*ssa.MakeInterface)
		if t := deref(arg.Type()); g.given[types.TypeString(t, nil)] && !made && g.value(arg, c) != nobody {
			names = append(names, path.Base(f.RelString(nil))+" of "+base(t))
		}
	}
	return names
}

// userName turns the name of a function of the program of userOf into that of what it is.
var userName = strings.NewReplacer("(", "", "*", "", ")", "", module+"proof/layers/user.the_", "", module+"proof/layers/user.", "", "$bound", "", "_", ".")

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

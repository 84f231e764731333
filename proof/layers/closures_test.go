package layers

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A closure is a function with those that its parameters and captured variables are, as far as
// they are known: what a loop over all shards calls depends on who loops.
type closure struct {
	fn      *ssa.Function
	known   map[ssa.Value]*closure
	depth   int
	id      int
	callees map[ssa.CallInstruction][]*closure
}

func (c *closure) ofUser() bool { return c.fn.Pkg != nil && c.fn.Pkg.Pkg.Path() == "user" }

// closure returns the closure of a function: always the same one for the same known functions.
func (g *graph) closure(fn *ssa.Function, known map[ssa.Value]*closure) *closure {
	c := &closure{fn: fn, known: map[ssa.Value]*closure{}, callees: map[ssa.CallInstruction][]*closure{}}
	key := fmt.Sprintf("%p", fn)
	add := func(v ssa.Value) {
		if k := known[v]; k != nil && k.depth < 4 {
			c.known[v] = k
			c.depth = max(c.depth, k.depth+1)
			key += fmt.Sprint(" ", v.Name(), k.id)
		}
	}
	for _, v := range fn.Params {
		add(v)
	}
	for _, v := range fn.FreeVars {
		add(v)
	}
	if old := g.closures[key]; old != nil {
		return old
	}
	c.id = len(g.closures)
	g.closures[key] = c
	return c
}

// value returns the function that v is in c, or nil if it is not known.
func (g *graph) value(v ssa.Value, c *closure) *closure {
	if _, ok := deref(v.Type()).Underlying().(*types.Signature); !ok || g.asking[v] {
		return nil // asking: a variable of a function that calls itself
	}
	g.asking[v] = true
	defer delete(g.asking, v)
	switch v := v.(type) {
	case *ssa.Function:
		return g.closure(v, nil)
	case *ssa.MakeClosure:
		fn, known := v.Fn.(*ssa.Function), map[ssa.Value]*closure{}
		for i, b := range v.Bindings {
			known[fn.FreeVars[i]] = g.value(b, c)
		}
		return g.closure(fn, known)
	case *ssa.Parameter, *ssa.FreeVar:
		return c.known[v]
	case *ssa.ChangeType:
		return g.value(v.X, c)
	case *ssa.UnOp:
		return g.value(v.X, c)
	case *ssa.Alloc:
		var stores []*ssa.Store
		for _, use := range *v.Referrers() {
			if store, ok := use.(*ssa.Store); ok && store.Addr == v {
				stores = append(stores, store)
			}
		}
		if len(stores) == 1 {
			return g.value(stores[0].Val, c)
		}
	case *ssa.Call:
		if f := v.Common().StaticCallee(); f != nil && len(f.Blocks) == 1 && f.Signature.Results().Len() == 1 {
			if ret, ok := f.Blocks[0].Instrs[len(f.Blocks[0].Instrs)-1].(*ssa.Return); ok {
				if _, ok := ret.Results[0].(*ssa.MakeClosure); ok {
					return g.value(ret.Results[0], g.bind(g.closure(f, nil), v.Common().Args, c))
				}
			}
		}
	}
	return nil
}

// bind returns the closure that f is when c calls it with args.
func (g *graph) bind(f *closure, args []ssa.Value, c *closure) *closure {
	known := map[ssa.Value]*closure{}
	for v, k := range f.known {
		known[v] = k
	}
	params := f.fn.Params
	for i, param := range params[max(0, len(params)-len(args)):] {
		known[param] = g.value(args[i], c)
	}
	return g.closure(f.fn, known)
}

// run finds all closures that run, and whom they call.
func (g *graph) run() {
	seen := map[*closure]bool{}
	add := func(c *closure) {
		if !seen[c] && !c.ofUser() {
			seen[c] = true
			g.running = append(g.running, c)
		}
	}
	for _, f := range g.functions {
		if f.Pkg != nil && f.Pkg.Pkg.Path() == "user" || f.Name() == "init" {
			g.running = append(g.running, g.closure(f, nil))
		}
	}
	for i := 0; i < len(g.running); i++ {
		c := g.running[i]
		for instr := range instructions(c.fn) {
			call, ok := instr.(ssa.CallInstruction)
			if !ok || lockOf(call) != "" {
				continue
			}
			callees, later := g.called(call, c)
			for _, callee := range append(callees, later...) {
				add(callee)
			}
			c.callees[call] = callees
		}
	}
}

// called returns the closures that run during a call by c, and those that run in other goroutines.
func (g *graph) called(call ssa.CallInstruction, c *closure) (during, later []*closure) {
	common := call.Common()
	if !common.IsInvoke() {
		if f := g.value(common.Value, c); f != nil {
			during = append(during, g.bind(f, common.Args, c))
		}
	}
	if during == nil {
		for _, f := range g.callees[call] {
			during = append(during, g.bind(g.closure(f, nil), common.Args, c))
		}
	}
	if f := common.StaticCallee(); f != nil && f.Blocks == nil {
		for _, arg := range common.Args { // which a function of another module calls
			if passed := g.value(arg, c); passed != nil {
				during = append(during, passed)
			}
		}
		if slices.Contains(strings.Fields("time.AfterFunc context.AfterFunc (*sync.WaitGroup).Go"), f.RelString(nil)) {
			return nil, during
		}
	}
	if _, ok := call.(*ssa.Go); ok {
		return nil, during
	}
	return during, nil
}

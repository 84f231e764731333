package layers

import (
	"fmt"
	"go/types"
	"maps"
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

// nobody is nil instead of a function, and context.Background: it calls no function.
var nobody = &closure{id: -1}

func ofUser(f *ssa.Function) bool {
	return strings.HasPrefix(strings.TrimLeft(f.RelString(nil), "(*"), module+"proof/layers/user.")
}

// closure returns the closure of a function: always the same one for the same known functions.
func (g *graph) closure(fn *ssa.Function, known map[ssa.Value]*closure) *closure {
	c := &closure{fn: fn, known: map[ssa.Value]*closure{}, callees: map[ssa.CallInstruction][]*closure{}}
	keys := []string{fmt.Sprintf("%p", fn)}
	for v, k := range known {
		if k != nil && k.depth < 4 {
			c.known[v] = k
			c.depth = max(c.depth, k.depth+1)
			keys = append(keys, fmt.Sprint(v.Name(), k.id))
		}
	}
	slices.Sort(keys)
	key := strings.Join(keys, " ")
	if old := g.closures[key]; old != nil {
		return old
	}
	c.id = len(g.closures)
	g.closures[key] = c
	return c
}

// value returns the function that v is in c, or nil if it is not known.
func (g *graph) value(v ssa.Value, c *closure) *closure {
	t := deref(v.Type()).Underlying()
	if _, ok := t.(*types.Signature); !ok && !types.IsInterface(t) || g.asking[v] {
		return nil // asking: a variable of a function that calls itself
	}
	g.asking[v] = true
	defer delete(g.asking, v)
	switch v := v.(type) {
	case *ssa.Const:
		return nobody
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
		if values := assigned(v); len(values) == 1 {
			return g.value(values[0], c)
		}
	case *ssa.Call:
		if f := v.Common().StaticCallee(); f != nil && f.RelString(nil) == "context.Background" {
			return nobody
		}
	}
	return nil
}

// assigned returns the values that a variable gets, also in functions that capture it.
func assigned(v ssa.Value) (all []ssa.Value) {
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.Store:
			if use.Addr == v {
				all = append(all, use.Val)
			}
		case *ssa.MakeClosure:
			all = append(all, assigned(use.Fn.(*ssa.Function).FreeVars[slices.Index(use.Bindings, v)])...)
		}
	}
	return all
}

// bind returns the closure that f is when c calls it with args.
func (g *graph) bind(f *closure, args []ssa.Value, c *closure) *closure {
	known := maps.Clone(f.known)
	params := f.fn.Params
	for i, param := range params[max(0, len(params)-len(args)):] {
		known[param] = g.value(args[i], c)
	}
	return g.closure(f.fn, known)
}

// run finds all closures that run, and whom they call.
func (g *graph) run() {
	seen, reached := map[*closure]bool{}, map[*ssa.Function]bool{}
	var add func(c *closure)
	add = func(c *closure) {
		if seen[c] {
			return
		}
		seen[c], reached[c.fn] = true, true
		g.running = append(g.running, c)
		for _, instr := range instructions(c.fn) {
			if call, ok := instr.(ssa.CallInstruction); ok && lockOf(call) == "" {
				during, later := g.called(call, c)
				c.callees[call] = during
				for _, callee := range append(during, later...) {
					if !ofUser(callee.fn) {
						add(callee)
					}
				}
			}
		}
	}
	for _, users := range []bool{true, false} { // then also what users call by an interface
		for _, f := range g.functions {
			if ofUser(f) == users && !reached[f] {
				add(g.closure(f, nil))
			}
		}
	}
}

// called returns the closures that run during a call by c, and those that run in other goroutines.
func (g *graph) called(call ssa.CallInstruction, c *closure) (during, later []*closure) {
	common := call.Common()
	f := g.value(common.Value, c)
	switch {
	case f == nobody:
		return nil, nil
	case f != nil && !common.IsInvoke():
		during = append(during, g.bind(f, common.Args, c))
	default:
		for _, f := range g.callees[call] {
			during = append(during, g.bind(g.closure(f, nil), common.Args, c))
		}
	}
	static := common.StaticCallee()
	foreign := len(during) == 0 || static != nil && static.Blocks == nil
	if foreign || slices.ContainsFunc(during, func(f *closure) bool { return ofUser(f.fn) }) {
		for _, arg := range common.Args { // which it calls
			if passed := g.value(arg, c); passed != nil && passed != nobody {
				during = append(during, passed)
			}
		}
	}
	_, goes := call.(*ssa.Go)
	if goes || static != nil && slices.Contains(strings.Fields("time.AfterFunc context.AfterFunc (*sync.WaitGroup).Go"), static.RelString(nil)) {
		return nil, during
	}
	return during, nil
}

package layers

import (
	"fmt"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
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
		for instr := range instructions(f) {
			if call, ok := instr.(ssa.CallInstruction); ok && isLockOp(call) && p.labels[p.node(call.Common().Args[0])][l] {
				mark(f)
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
// calls while it may be held. If a call may return with the lock or without it, true or no error
// says that it holds it, as with TryLock. A lock is one, whichever object it is of.
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
	for instr := range instructions(f) {
		if d, ok := instr.(*ssa.Defer); ok {
			deferred = append(deferred, d)
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

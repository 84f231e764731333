package mysql

import (
	"slices"
	"sync"
)

// A change is what one transaction, or one statement outside of any, has changed. It waits until it
// can be read: a commit is in the log first, and visible afterwards.
type change struct {
	end  place
	keys []string
	all  bool // any key may have changed
}

// A gate holds changes back until they can be read.
type gate struct {
	mu      sync.Mutex
	waiting []change
	keys    int           // of all that wait
	reached place         // before which all changes were put
	wake    chan struct{} // not empty when one of these has changed
	limit   int           // of keys

	// ordered is the first place of the file of the log by which it is known that all in the files
	// before it can be read. A new file begins while commits of the last one may still wait, and
	// snapshots have their position in it at once.
	ordered position
}

func newGate(begin place, limit int) *gate {
	return &gate{reached: begin, wake: make(chan struct{}, 1), limit: limit}
}

// put adds a change, if it is one, before whose end everything was put then. If too many keys wait,
// any key may have changed.
func (g *gate) put(c change) {
	g.mu.Lock()
	if c.all || len(c.keys) > 0 {
		g.waiting = append(g.waiting, c)
	}
	if g.keys += len(c.keys); g.keys > g.limit {
		for i := range g.waiting {
			g.waiting[i].all, g.waiting[i].keys = true, nil
		}
		g.keys = 0
	}
	g.reached = g.reached.with(c.end)
	g.mu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// order says that all in the files before that of a place can be read once a snapshot has the place.
func (g *gate) order(p position) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.number > g.ordered.number || p.number == g.ordered.number && p.offset < g.ordered.offset {
		g.ordered = p
	}
}

// waits reports whether a snapshot at a place may not show all before it.
func (g *gate) waits(p place) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.inOrder(p)
}

// inOrder reports whether all before a place of a snapshot can be read.
func (g *gate) inOrder(p place) bool {
	at, ok := p.(position)
	return !ok || at.number == g.ordered.number && at.covers(g.ordered)
}

// open removes and returns what can be read, as one change.
func (g *gate) open(visible place) (shown change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(c change) bool {
		if !visible.covers(c.end) || !g.inOrder(visible) {
			return false
		}
		shown.all = shown.all || c.all
		shown.keys = append(shown.keys, c.keys...)
		g.keys -= len(c.keys)
		return true
	})
	return shown
}

// has reports whether all before a place was put, and can be read if a snapshot has the place.
func (g *gate) has(p place) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reached.covers(p) && g.inOrder(p)
}

// holds returns how many changes wait.
func (g *gate) holds() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

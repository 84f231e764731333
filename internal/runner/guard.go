package runner

import (
	"runtime/debug"
	"sync/atomic"
)

// A guard calls functions of the user in such a way that one which fails harms
// nobody else, and counts those that fail.
type guard struct {
	report func(recovered any, stack []byte) // may be nil
	failed atomic.Uint64
}

// end is deferred by the function that calls one of the user's, and sets
// *returned after it. Its caller returns also if the user's function panics.
// A Goexit cannot be stopped: it is counted, and goes on to the deferred
// functions of the callers.
func (g *guard) end(returned *bool) {
	if *returned {
		return
	}
	cause := recover()
	if cause == nil {
		cause = ErrGoexit
	}
	g.fail(cause)
}

// fail counts and reports a callback that did not return. It must be called
// while the stack of the callback is still there.
func (g *guard) fail(cause any) {
	g.failed.Add(1)
	if g.report == nil {
		return
	}
	defer func() { _ = recover() }()
	g.report(cause, debug.Stack())
}

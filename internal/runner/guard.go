package runner

import (
	"runtime/debug"
	"sync/atomic"
)

// A guard recovers the panics of the user's functions, and counts and reports them.
type guard struct {
	report func(recovered any, stack []byte) // may be nil
	failed atomic.Uint64
}

// end is deferred by the caller of a user's function, which sets *returned once the function
// has returned. If the function panics, end recovers and the caller returns. A Goexit cannot
// be stopped: end counts it, and it goes on to the deferred functions further up.
func (g *guard) end(returned *bool) {
	if !*returned {
		g.fail(recover())
	}
}

// fail counts and reports a callback that did not return: it panicked with cause, or
// called Goexit if cause is nil. The stack of the callback must still be there.
func (g *guard) fail(cause any) {
	if cause == nil {
		cause = ErrGoexit
	}
	g.failed.Add(1)
	if g.report == nil {
		return
	}
	defer func() { _ = recover() }()
	g.report(cause, debug.Stack())
}

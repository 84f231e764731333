package runner

import (
	"reflect"
	"runtime"
)

// A body is what a worker does. It hides the type parameter of the runner, so
// that all workers of all runners have the one function work on their stacks.
type body interface{ run() }

// work is at the root of every worker's stack; InCallback looks for it there.
//
//go:noinline
func work(b body) { b.run() }

// Go runs f in a goroutine of its own that counts as a callback: it does not wait
// in Wait. It is for what a callback starts and then waits for.
func Go(f func()) { go work(function(f)) }

type function func()

func (f function) run() { f() }

var workEntry = reflect.ValueOf(work).Pointer()

// rootFrames is how many frames at the root of a stack are searched for work.
// There it is followed by the closure that starts it and by runtime.goexit.
const rootFrames = 4

// InCallback reports whether the calling goroutine is a worker of a runner,
// that is whether it is inside a callback.
//
// Go has no goroutine-local storage, and a set of the ids of all workers would
// cost every start of a worker what only a producer over the bound has to pay
// here, about 50 ns for each frame of its stack.
func InCallback() bool {
	var usual [128]uintptr // deeper stacks are walked twice
	pcs := usual[:]
	n := runtime.Callers(1, pcs)
	for n == len(pcs) { // the root may be cut off
		pcs = make([]uintptr, 8*len(pcs))
		n = runtime.Callers(1, pcs)
	}
	for _, pc := range pcs[max(0, n-rootFrames):n] {
		// pc is a return address, which may be past the end of its function.
		if f := runtime.FuncForPC(pc - 1); f != nil && f.Entry() == workEntry {
			return true
		}
	}
	return false
}

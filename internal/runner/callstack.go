package runner

import (
	"reflect"
	"runtime"
	"slices"
)

// work calls f, which calls callbacks. InCallback looks for work on the stack, so all
// that f calls is inside a callback. work is at the root of every worker's stack, and
// in the middle of the stack of a goroutine in Pool.Run.
//
//go:noinline
func work(f func()) { f() }

// Go runs f in a new goroutine that counts as a callback: Wait returns at once in it.
// It is for goroutines that a callback starts and then waits for.
func Go(f func()) { go work(f) }

// InCallback reports whether the calling goroutine is inside a callback of a runner
// or a pool, or inside a function that [Go] runs.
//
// It walks the stack, about 30 ns for each frame. Go has no goroutine-local storage,
// and a set of the ids of all workers would make every start of a worker dearer. Only
// a producer over the backlog and a Drain that has to wait pay for the walk.
func InCallback() bool {
	var usual [128]uintptr // deeper stacks are walked again
	for pcs := usual[:]; ; pcs = make([]uintptr, 8*len(pcs)) {
		n := runtime.Callers(1, pcs)
		if slices.ContainsFunc(pcs[:n], inWork) {
			return true
		}
		if n < len(pcs) {
			return false
		}
	}
}

var workEntry = reflect.ValueOf(work).Pointer()

// workSize is more than the size of work. It excludes most pcs without a lookup, which
// costs more than the walk, and an allocation for an inlined function.
const workSize = 1 << 16

// inWork reports whether the return address pc is in work.
func inWork(pc uintptr) bool {
	if pc-workEntry > workSize { // also if pc is smaller
		return false
	}
	f := runtime.FuncForPC(pc - 1) // pc may be past the end of its function
	return f != nil && f.Entry() == workEntry
}

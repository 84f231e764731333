package runner

import (
	"reflect"
	"runtime"
	"slices"
)

// work calls f, which calls callbacks. Whatever is called by it is inside a
// callback: InCallback looks for work on the stack. It is at the root of every
// worker's stack, and in the middle of that of a goroutine which is a guest of
// a pool.
//
//go:noinline
func work(f func()) { f() }

// Go runs f in a goroutine of its own that counts as a callback: it does not wait
// in Wait. It is for what a callback starts and then waits for.
func Go(f func()) { go work(f) }

// InCallback reports whether the calling goroutine is inside a callback: of a
// runner or a pool, or in what [Go] runs.
//
// Go has no goroutine-local storage, and a set of the ids of all workers would
// cost every start of a worker what only a producer over the bound has to pay
// here, about 30 ns for each frame of its stack.
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

// workSize is more than the size of work. A pc that it excludes need not be looked
// up, which costs more than the walk, and an allocation for an inlined function.
const workSize = 1 << 16

// inWork reports whether the return address pc is in work.
func inWork(pc uintptr) bool {
	if pc-workEntry > workSize { // also if pc is smaller
		return false
	}
	f := runtime.FuncForPC(pc - 1) // pc may be past the end of its function
	return f != nil && f.Entry() == workEntry
}

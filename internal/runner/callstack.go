package runner

import (
	"reflect"
	"runtime"
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

// RunAsLoad calls f, which calls functions of the user for a load of a cache: InLoad is true in
// all that f calls.
//
//go:noinline
func RunAsLoad(f func()) { f() }

// InLoad reports whether the calling goroutine is inside a function that [RunAsLoad] calls.
func InLoad() bool { return onStack(loadEntry) }

// InCallback reports whether the calling goroutine is inside a callback of a runner
// or a pool, or inside a function that [Go] runs.
//
// It walks the stack, about 30 ns for each frame. Go has no goroutine-local storage,
// and a set of the ids of all workers would make every start of a worker dearer. Only
// a producer over the backlog and a Drain that has to wait pay for the walk.
func InCallback() bool { return onStack(workEntry) }

var (
	workEntry = reflect.ValueOf(work).Pointer()
	loadEntry = reflect.ValueOf(RunAsLoad).Pointer()
)

// onStack reports whether the stack of the calling goroutine has the function with an entry.
func onStack(entry uintptr) bool {
	var usual [128]uintptr // deeper stacks are walked again
	for pcs := usual[:]; ; pcs = make([]uintptr, 8*len(pcs)) {
		n := runtime.Callers(1, pcs)
		for _, pc := range pcs[:n] {
			if isIn(pc, entry) {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// maxSize is more than the size of work or RunAsLoad. It excludes most pcs without a lookup: that
// would cost more than the walk, and an allocation for an inlined function.
const maxSize = 1 << 16

// isIn reports whether the return address pc is in the function with an entry.
func isIn(pc, entry uintptr) bool {
	if pc-entry > maxSize { // also if pc is smaller
		return false
	}
	f := runtime.FuncForPC(pc - 1) // pc may be past the end of its function
	return f != nil && f.Entry() == entry
}

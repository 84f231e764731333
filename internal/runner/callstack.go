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

// RunAsLoad calls f, which calls functions of the user for a load of a cache. InLoad is true in
// all that f calls.
//
//go:noinline
func RunAsLoad(f func()) { f() }

// InLoad reports whether the calling goroutine is inside a function that [RunAsLoad] calls.
func InLoad() bool { return onStack(loadEntry) }

// InCallback reports whether the calling goroutine is inside a callback of a runner
// or a pool, or inside a function that [Go] runs.
//
// It walks the stack, about 30 ns for each frame. Go has no goroutine-local storage, the
// functions of the user have no context to carry a mark, and a set of the ids of all workers
// would make every start of a worker dearer. Those pay for the walk who may have to wait for
// callbacks, and a load in a goroutine of its own, if the cache has callbacks.
func InCallback() bool { return onStack(workEntry) }

var (
	workEntry = reflect.ValueOf(work).Pointer()
	loadEntry = reflect.ValueOf(RunAsLoad).Pointer()
)

// onStack reports whether the stack of the calling goroutine has the function with an entry.
//
// It depends on how Go compiles. A function that is not inlined has a frame until it returns,
// also while it makes its last call. runtime.Callers returns the return addresses of all
// frames. reflect and runtime.FuncForPC give a function the same entry.
//
// If a version of Go changes that, InCallback and InLoad are false everywhere: a callback or a
// load that waits for itself gets no error, but waits for ever. Then TestInCallback and
// TestInLoad fail. The remedy is to look for the name of the function with
// runtime.CallersFrames, which finds inlined ones too. That takes 3 µs for twenty frames, and
// this 1 µs.
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

package runner

import (
	"runtime"
	"testing"
	"testing/synctest"
)

//go:noinline
func atDepth(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	atDepth(n-1, f)
}

// inCallbackAt reports what InCallback says n frames further down.
func inCallbackAt(n int) (in bool) {
	atDepth(n, func() { in = InCallback() })
	return in
}

// TestInCallback: a callback is known at every depth. If this fails with a new version of Go, see
// onStack.
func TestInCallback(t *testing.T) {
	depths := []int{1_000, 4_096, 10_000, 100_000}
	for n := range 1200 { // across the sizes of the first two buffers
		depths = append(depths, n)
	}
	for _, n := range depths {
		if inCallbackAt(n) {
			t.Fatalf("not in a callback, %d frames deep: got true", n)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		called := 0
		r := New(1, 0, func(n int) {
			called++
			if !inCallbackAt(n) {
				t.Errorf("in a callback, %d frames deep: got false", n)
			}
			if n == 0 {
				runtime.Goexit() // an heir of the worker calls what follows
			}
		}, nil)
		for _, n := range depths {
			r.Push(0, n)
		}
		synctest.Wait()
		wantSame(t, "calls", called, len(depths))
	})
}

// TestInLoad: a load is known however deep below RunAsLoad, and in a callback too; and neither
// outside nor in a goroutine that a load starts. If this fails with a new version of Go, see onStack.
func TestInLoad(t *testing.T) {
	want := func(what string, want bool) {
		for _, n := range []int{0, 1, 100, 1_000, 10_000} {
			atDepth(n, func() {
				if got := InLoad(); got != want {
					t.Errorf("%s, %d frames deep: got %t", what, n, got)
				}
			})
		}
	}
	want("outside", false)
	RunAsLoad(func() {
		want("in a load", true)
		if InCallback() {
			t.Error("in a load: InCallback is true")
		}
		<-started(func() { want("in a goroutine of a load", false) })
	})
	want("after a load", false)
	synctest.Test(t, func(t *testing.T) {
		New(1, 0, call, never(t)).Push(0, func() {
			want("in a callback", false)
			RunAsLoad(func() { want("in a load in a callback", true) })
		})
	})
}

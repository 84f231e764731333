package timingwheel

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errFirst  = errors.New("first")
	errSecond = errors.New("second")
)

// TestContextsEndWithTheirParent checks that the children of a context have ended when the
// cancel function of the parent returns.
func TestContextsEndWithTheirParent(t *testing.T) {
	timers := mustTimers(t, 10*ms, 8)
	for range 500 {
		root, cancelRoot := context.WithCancelCause(t.Context())
		ctx, cancel := timers.WithTimeout(root, time.Hour)
		child, cancelChild := context.WithCancelCause(ctx)
		stop := context.AfterFunc(ctx, func() {})
		cancelRoot(errFirst)
		cancelChild(errSecond)
		if err, cause := child.Err(), context.Cause(child); err != context.Canceled || cause != errFirst {
			t.Fatalf("the child ended with %v, cause %v, after its parent had", err, cause)
		}
		if stop() {
			t.Fatal("stop of AfterFunc is true after the parent has ended")
		}
		cancel()
	}
}

// TestContextsNeedNoGoroutine checks that contexts start no goroutine, neither while they
// wait nor when their parent ends.
func TestContextsNeedNoGoroutine(t *testing.T) {
	const n = 10_000
	timers := mustTimers(t, time.Hour, 64)
	root, cancelRoot := context.WithCancel(t.Context())
	before := runtime.NumGoroutine()
	var last context.Context
	for range n {
		ctx, cancel := timers.WithTimeout(context.WithValue(root, errFirst, 1), time.Hour)
		defer cancel()
		last = ctx
	}
	waiting := runtime.NumGoroutine() - before
	cancelRoot()
	ending := runtime.NumGoroutine() - before
	if waiting > 10 || ending > 10 || last.Err() == nil {
		t.Errorf("%d goroutines while contexts wait, %d when their parent has ended", waiting, ending)
	}
}

// TestContextsGoOnAfterStop checks that contexts end at their deadline after the wheel was
// stopped.
func TestContextsGoOnAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		start := time.Now()
		before, cancelBefore := timers.WithTimeout(t.Context(), 25*ms)
		defer cancelBefore()
		timers.Stop()
		after, cancelAfter := timers.WithTimeout(t.Context(), 25*ms)
		defer cancelAfter()
		for _, ctx := range []context.Context{before, after} {
			<-ctx.Done()
			if err := ctx.Err(); err != context.DeadlineExceeded || time.Since(start) != 25*ms {
				t.Errorf("ended after %v with %v", time.Since(start), err)
			}
		}
	})
}

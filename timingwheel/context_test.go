package timingwheel

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestWithTimeout checks that a context ends at its deadline, also when the wheel is stopped
// before or after it is made, and that its child has ended when the parent has.
func TestWithTimeout(t *testing.T) {
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
		ctx, cancel := timers.WithTimeout(t.Context(), time.Hour)
		child, cancelChild := context.WithCancel(ctx)
		defer cancelChild()
		cancel()
		wantSame(t, "the child of a context that was canceled", child.Err(), context.Canceled)
	})
}

package timingwheel

import (
	"context"
	"time"
)

// WithTimeout is [context.WithTimeout]. See [Timers.WithDeadlineCause].
func (t *Timers) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, d)
}

// WithTimeoutCause is [context.WithTimeoutCause]. See [Timers.WithDeadlineCause].
func (t *Timers) WithTimeoutCause(parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(parent, d, cause)
}

// WithDeadline is [context.WithDeadline]. See [Timers.WithDeadlineCause].
func (t *Timers) WithDeadline(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(parent, deadline)
}

// WithDeadlineCause is [context.WithDeadlineCause]. The context uses a timer of
// package time: it ends at its deadline, not at a tick, and still ends then after
// the wheel is stopped. [Timers.Len] and the statistics do not count it.
//
// The wheel cannot time a context correctly: package context propagates the end of a
// parent at once only to its own contexts, and those return
// [context.DeadlineExceeded] only when a timer of package time ends them. So the four
// methods save nothing. They serve programs that get every timer and timeout from one
// value.
func (t *Timers) WithDeadlineCause(parent context.Context, deadline time.Time, cause error) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(parent, deadline, cause)
}

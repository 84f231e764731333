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

// WithDeadlineCause is [context.WithDeadlineCause]. The context is one of package
// context, with a timer of package time: it ends at its deadline, not at a tick,
// and goes on when the wheel is stopped. It counts neither in [Timers.Len] nor in
// the statistics.
//
// A context with a timer of the wheel cannot be right: package context tells the
// end of a parent at once only to contexts of its own, and those end with
// [context.DeadlineExceeded] only by a timer of package time. So the four methods
// save nothing. They are for programs that take all that has to do with time from
// one value.
func (t *Timers) WithDeadlineCause(parent context.Context, deadline time.Time, cause error) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(parent, deadline, cause)
}

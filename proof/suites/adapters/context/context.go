// Package context has the names of package context that its tests use. Its contexts with a
// time-out are those of package timingwheel.
package context

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

type (
	Context         = context.Context
	CancelFunc      = context.CancelFunc
	CancelCauseFunc = context.CancelCauseFunc
)

var (
	Canceled         = context.Canceled
	DeadlineExceeded = context.DeadlineExceeded
)

func Background() Context                            { return context.Background() }
func TODO() Context                                  { return context.TODO() }
func WithValue(parent Context, key, val any) Context { return context.WithValue(parent, key, val) }
func WithoutCancel(parent Context) Context           { return context.WithoutCancel(parent) }
func Cause(c Context) error                          { return context.Cause(c) }

func AfterFunc(ctx Context, f func()) (stop func() bool) { return context.AfterFunc(ctx, f) }

// wheel makes the contexts with a time-out.
var wheel = func() *timingwheel.Timers {
	t, err := timingwheel.NewTimers(time.Millisecond, 1024)
	if err != nil {
		panic(err)
	}
	return t
}()

func WithTimeout(parent Context, timeout time.Duration) (Context, CancelFunc) {
	return wheel.WithTimeout(parent, timeout)
}

func WithTimeoutCause(parent Context, timeout time.Duration, cause error) (Context, CancelFunc) {
	return context.WithTimeoutCause(parent, timeout, cause)
}

func WithDeadline(parent Context, d time.Time) (Context, CancelFunc) {
	return context.WithDeadline(parent, d)
}

func WithDeadlineCause(parent Context, d time.Time, cause error) (Context, CancelFunc) {
	return context.WithDeadlineCause(parent, d, cause)
}

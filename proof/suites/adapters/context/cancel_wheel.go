//go:build wheelcancel

package context

import (
	"context"
	"time"
)

// never is longer than any test waits.
const never = 1 << 62 * time.Nanosecond

// WithCancel makes a context of the wheel although the test asks for no deadline, so that
// the tests of cancelling test the wheel.
func WithCancel(parent Context) (Context, CancelFunc) { return wheel.WithTimeout(parent, never) }

// WithCancelCause makes a context of package context below one of the wheel, as the wheel's
// cannot be cancelled with a cause.
func WithCancelCause(parent Context) (Context, CancelCauseFunc) {
	below, end := wheel.WithTimeout(parent, never)
	ctx, cancel := context.WithCancelCause(below)
	return ctx, func(cause error) {
		cancel(cause)
		end()
	}
}

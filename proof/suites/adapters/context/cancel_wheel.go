//go:build wheelcancel

package context

import (
	"context"
	"time"
)

// never is further away than any test waits.
const never = 1 << 62 * time.Nanosecond

// WithCancel makes a context of the wheel also where the test asks for no deadline, so
// that all that is tested of cancelling is tested of the wheel.
func WithCancel(parent Context) (Context, CancelFunc) { return wheel.WithTimeout(parent, never) }

// WithCancelCause makes a context of package context below one of the wheel, which has
// none that is cancelled with a cause.
func WithCancelCause(parent Context) (Context, CancelCauseFunc) {
	below, end := wheel.WithTimeout(parent, never)
	ctx, cancel := context.WithCancelCause(below)
	return ctx, func(cause error) {
		cancel(cause)
		end()
	}
}

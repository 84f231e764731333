package timingwheel

import (
	"context"
	"time"
)

// WithTimeout is [context.WithTimeout], for programs that get every timer and timeout from
// one value. The context uses a timer of package time: it ends at its deadline, not at a
// tick, and still ends then after the wheel is stopped. [Timers.Len] and the statistics do
// not count it.
//
// A wheel cannot time a context correctly: package context passes the end of a parent on at
// once only to its own contexts, and those return [context.DeadlineExceeded] only when a
// timer of package time ends them.
func (t *Timers) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, d)
}

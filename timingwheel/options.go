package timingwheel

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

var (
	// ErrClosed is returned after Stop.
	ErrClosed = errors.New("timingwheel: the wheel is stopped")

	// ErrArgument is wrapped by the errors that say which argument was wrong.
	ErrArgument = errors.New("timingwheel: wrong argument")

	// ErrFull is returned by a wheel made [WithLimit] that has as many timers.
	ErrFull = errors.New("timingwheel: the wheel has as many timers as its limit")
)

const (
	// minInterval is the least tick: one that is shorter is a number without its
	// unit, and no operating system wakes anybody that precisely.
	minInterval = 100 * time.Microsecond
	maxInterval = 365 * 24 * time.Hour

	// defaultWorkers is generous because callbacks of timers tend to wait for
	// something, and a worker costs nothing while there is nothing to call.
	defaultWorkers = 64
)

// An Option changes how a wheel is made by [New] or [NewTimers].
type Option func(*options)

type options struct {
	name       string
	workers    int
	workersSet bool
	submit     func(run func()) error
	submitSet  bool
	limit      int
	limitSet   bool
	onPanic    func(recovered any, stack []byte)
}

// WithName names the wheel in the statistics of the process; "wheel" if it is
// not given or empty. If there is a wheel of that name already, it gets a number
// after it.
func WithName(name string) Option { return func(o *options) { o.name = name } }

// WithWorkers sets the most callbacks that run at once, 64 if it is not given.
// Timers that are due meanwhile wait, and can be removed and moved until their
// callback begins; the ticks go on. It must be positive, and does not go with
// [WithPool].
func WithWorkers(n int) Option {
	return func(o *options) { o.workers, o.workersSet = n, true }
}

// WithPool has callbacks called by a pool of the caller's own instead of by
// goroutines of the wheel. For every timer that is due, submit gets a function to
// call once, on any goroutine: it picks a timer that is due then, if there still is
// one, and calls its callback. A panic in the callback does not come out of it.
//
// submit is called by one goroutine of the wheel at a time. It may wait until the
// pool has room; the ticks go on. If it returns an error, the timer is offered
// again at the next tick: it is late then, not lost. If it returns nil, the pool
// must call the function sooner or later: for one that it drops, a timer waits
// until the pool is called for another.
//
// Drain does not use the pool.
//
// [ants.Pool.Submit], for one, has the form of submit.
//
// [ants.Pool.Submit]: https://pkg.go.dev/github.com/panjf2000/ants/v2#Pool.Submit
func WithPool(submit func(run func()) error) Option {
	return func(o *options) { o.submit, o.submitSet = submit, true }
}

// WithLimit sets the most timers that a [TimingWheel] has at once, those counted
// that are due and have to wait for their callback. With that many, setting
// another returns [ErrFull]; a timer that is set can still be set anew and moved.
// It must be positive. Without it there is no limit. [NewTimers] refuses it, as
// its methods have no error to return.
func WithLimit(n int) Option {
	return func(o *options) { o.limit, o.limitSet = n, true }
}

// WithOnPanic sets what is told of a callback that panicked: what it panicked
// with and the stack. The panic ends there. An error that says so stands for a
// callback that called [runtime.Goexit]. If it is not given, package log/slog
// logs it. f may be called by several goroutines at once.
func WithOnPanic(f func(recovered any, stack []byte)) Option {
	return func(o *options) { o.onPanic = f }
}

func logPanic(recovered any, stack []byte) {
	slog.Error("timingwheel: callback panicked", "panic", recovered, "stack", string(stack))
}

// newOptions applies opts and checks them together with the other arguments.
func newOptions(interval time.Duration, slots int, opts []Option) (options, error) {
	o := options{workers: defaultWorkers, onPanic: logPanic}
	for _, set := range opts {
		if set != nil {
			set(&o)
		}
	}
	var wrong []error
	refuse := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%w: "+format, append([]any{ErrArgument}, args...)...))
	}
	switch {
	case interval > 0 && interval < time.Microsecond:
		refuse("the interval is %v, want at least %v; was a unit forgotten, as in %d*time.Millisecond?", interval, minInterval, interval)
	case interval < minInterval || interval > maxInterval:
		refuse("the interval is %v, want from %v to %v", interval, minInterval, maxInterval)
	}
	if slots < 1 {
		refuse("the number of slots is %d, want at least 1", slots)
	}
	if o.workersSet && o.workers < 1 {
		refuse("WithWorkers(%d), want at least 1", o.workers)
	}
	if o.submitSet && o.submit == nil {
		refuse("WithPool(nil), want a function")
	}
	if o.workersSet && o.submitSet {
		refuse("both WithWorkers and WithPool: the pool decides how many callbacks run at once")
	}
	if o.limitSet && o.limit < 1 {
		refuse("WithLimit(%d), want at least 1", o.limit)
	}
	if o.onPanic == nil {
		refuse("WithOnPanic(nil), want a function")
	}
	return o, errors.Join(wrong...)
}

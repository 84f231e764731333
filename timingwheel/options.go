package timingwheel

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
)

var (
	// ErrClosed is returned after Stop.
	ErrClosed = errors.New("timingwheel: the wheel is stopped")

	// ErrArgument is wrapped by every error that says which argument was wrong.
	ErrArgument = errors.New("timingwheel: wrong argument")

	// ErrFull is returned by a wheel that has as many timers as [WithLimit] allows.
	ErrFull = errors.New("timingwheel: the wheel has as many timers as its limit")
)

const (
	// minInterval is the shortest tick. Anything shorter is likely a number without
	// its unit, and no operating system wakes a thread that precisely.
	minInterval = 100 * time.Microsecond
	maxInterval = 365 * 24 * time.Hour

	// defaultWorkers is high because callbacks often block, and a worker costs
	// nothing while there is nothing to call.
	defaultWorkers = 64
)

// An Option sets an option of a wheel made by [New] or [NewTimers].
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

// WithName names the wheel in the statistics of the process. Without it, or with an
// empty name, the name is "wheel". A number is appended to a name that is in use.
func WithName(name string) Option { return func(o *options) { o.name = name } }

// WithWorkers sets how many callbacks may run at once; the default is 64. Further
// timers that are due wait, and can be removed and moved until their callback
// begins; the ticks go on. While workers cannot call all that is due, they call all keys
// or timers about equally often. n must be positive. WithWorkers cannot be combined with
// [WithPool].
//
// With one worker no two callbacks run at once, and they run in the order of the ticks at which they
// are due; those of one tick in any order. The functions of Drain may run beside them.
func WithWorkers(n int) Option {
	return func(o *options) { o.workers, o.workersSet = n, true }
}

// WithPool runs callbacks in a pool of the caller's instead of in goroutines of the
// wheel. For every timer that is due, the wheel calls submit with a function. The pool
// must call the function once, on any goroutine. It claims a timer that is due, if there
// still is one, and calls its callback. A panic of the callback ends inside the function.
//
// submit is called by one goroutine of the wheel at a time. It may wait until the
// pool has room; the ticks go on. If it returns an error, the wheel offers nothing until
// the next tick, even if the pool has room before: timers that are due are then late, not
// lost. If it returns nil, the pool must call the function sooner or later. If the pool
// drops the function, a timer waits until submit is called for another. submit must not
// be nil.
//
// The functions take the timers from each part of the wheel in turn. So while the pool
// cannot call all that is due, some timers that repeat are called several times as often
// as others.
//
// Drain does not use the pool.
//
// [ants.Pool.Submit], for example, can be given as submit.
//
// [ants.Pool.Submit]: https://pkg.go.dev/github.com/panjf2000/ants/v2#Pool.Submit
func WithPool(submit func(run func()) error) Option {
	return func(o *options) { o.submit, o.submitSet = submit, true }
}

// WithLimit sets how many timers a wheel may have at once, including those
// that are due and wait for their callback to begin. At the limit, setting a timer
// for another key returns [ErrFull]; existing timers can still be set again and moved.
// n must be positive. Without this option there is no limit.
//
// Of [Timers] a timer at the limit does not fire; [Timer.Refused] says so. A timer that repeats counts during
// its calls too. The statistics count what was refused.
func WithLimit(n int) Option {
	return func(o *options) { o.limit, o.limitSet = n, true }
}

// WithOnPanic sets a function that is called when a callback panics, with the panic
// value and the stack. The panic does not go further. For a callback that calls
// [runtime.Goexit], recovered is an error that says so. The default logs with package
// log/slog. f may be called by several goroutines at once, and must not be nil.
func WithOnPanic(f func(recovered any, stack []byte)) Option {
	return func(o *options) { o.onPanic = f }
}

// settings returns what the statistics show of the options.
func (o *options) settings(interval time.Duration, slots int) sources.WheelSettings {
	s := sources.WheelSettings{Interval: interval, Slots: slots, Workers: o.workers, Limit: o.limit}
	if o.submit != nil {
		s.Workers = 0
	}
	return s
}

func logPanic(recovered any, stack []byte) {
	slog.Error("timingwheel: callback panicked", "panic", recovered, "stack", string(stack))
}

// An argumentError says which argument was wrong and what to write instead.
type argumentError string

func wrongArgument(format string, args ...any) error {
	return argumentError(fmt.Sprintf("timingwheel: "+format, args...))
}

func (e argumentError) Error() string { return string(e) }

func (argumentError) Unwrap() error { return ErrArgument }

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
		wrong = append(wrong, wrongArgument(format, args...))
	}
	switch {
	case interval > 0 && interval < time.Microsecond:
		refuse("interval is %v: want at least %v; was a unit forgotten, as in %d*time.Millisecond?", interval, minInterval, interval)
	case interval < minInterval || interval > maxInterval:
		refuse("interval is %v: want from %v to %v", interval, minInterval, maxInterval)
	}
	if slots < 1 {
		refuse("slots is %d: want at least 1", slots)
	}
	if o.workersSet && o.workers < 1 {
		refuse("WithWorkers(%d): want at least 1", o.workers)
	}
	if o.submitSet && o.submit == nil {
		refuse("WithPool(nil): want a function")
	}
	if o.workersSet && o.submitSet {
		refuse("both WithWorkers and WithPool are given: want one of them; a pool has its own limit")
	}
	if o.limitSet && o.limit < 1 {
		refuse("WithLimit(%d): want at least 1", o.limit)
	}
	if o.onPanic == nil {
		refuse("WithOnPanic(nil): want a function")
	}
	return o, errors.Join(wrong...)
}

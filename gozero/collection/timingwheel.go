package collection

import (
	"errors"
	"fmt"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/timex"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

var (
	// ErrClosed is returned by the methods of a wheel after Stop.
	ErrClosed = timingwheel.ErrClosed

	// ErrArgument is returned for a delay that is not positive, for a nil
	// function, and for a key that cannot be found again: nil, one that cannot be
	// hashed, such as a slice, and one that is not equal to itself, such as NaN.
	ErrArgument = timingwheel.ErrArgument
)

// Execute is called for a timer that is due, with its key and value.
type Execute func(key, value any)

// A TimingWheelOption sets an option of a wheel. go-zero's wheel has none.
type TimingWheelOption func(workers *int)

// InOrder makes a wheel call execute for one timer after another, in the order of the
// ticks at which they are due, as go-zero v1.10 does within a tick. It is for programs
// whose execute has no lock. A call that blocks holds up all others. The function of Drain
// may run at the same time.
func InOrder() TimingWheelOption { return func(workers *int) { *workers = 1 } }

// workersOf returns how many callbacks may run at once.
func workersOf(opts []TimingWheelOption) int {
	n := workers
	for _, set := range opts {
		if set != nil {
			set(&n)
		}
	}
	return n
}

// logPanic logs a panic as go-zero does.
func logPanic(recovered any, stack []byte) { logx.Errorf("%+v\n%s", recovered, stack) }

// A TimingWheel calls one function for keys, each at its time. A key has at most
// one timer, with a value. It is made by [NewTimingWheel] or
// [NewTimingWheelWithTicker], and its methods are safe for concurrent use, also by
// callbacks.
//
// A timer fires once. Until its callback begins it can be moved, replaced and
// removed, also when it is due and waits for its turn. The last of these operations wins.
// At most 64 callbacks run at once, in no particular order, unless [InOrder] is given. A
// panic in a callback is recovered and logged by logx.
type TimingWheel struct {
	wheel wheel
}

// A wheel is what wheels driven by the clock and by a ticker have in common.
type wheel interface {
	SetTimer(key, value any, delay time.Duration) error
	MoveTimer(key any, delay time.Duration) (found bool, err error)
	RemoveTimer(key any) (found bool, err error)
	Drain(fn func(key, value any)) error
	Stop()
}

// NewTimingWheel returns a wheel with a tick of the given interval that calls
// execute for every timer that is due: never before its delay has passed, and at
// most one tick after that. The interval must be from 100 µs to a year.
//
// numSlots is the number of ticks in a revolution, and must be positive. The best is about
// the usual delay divided by the interval; longer delays work too. An error wraps
// [ErrArgument] and says what was wrong.
//
// The wheel is driven by the clock: it has no ticker, no goroutine between ticks, and
// catches up after the machine was busy.
func NewTimingWheel(interval time.Duration, numSlots int, execute Execute, opts ...TimingWheelOption) (*TimingWheel, error) {
	w, err := timingwheel.New[any, any](interval, numSlots, execute, timingwheel.WithWorkers(workersOf(opts)), timingwheel.WithOnPanic(logPanic))
	if err != nil {
		return nil, err
	}
	return &TimingWheel{w}, nil
}

// NewTimingWheelWithTicker is [NewTimingWheel] driven by a ticker, usually for tests.
// The wheel counts the ticks and reads no clock: a timer is due after as many ticks as
// its delay has intervals, rounded up, however far apart the ticks are. Ticks that the
// ticker drops do not count. MoveTimer with a delay of less than one interval calls the
// callback at once, as in go-zero; such a call neither counts towards the 64 nor waits for
// its turn.
//
// The interval may be of any length, but must be positive. So must numSlots, which does
// nothing else, and ticker must not be nil. A goroutine of the wheel reads the ticker until
// Stop, which stops the ticker too; it never waits for a callback.
func NewTimingWheelWithTicker(interval time.Duration, numSlots int, execute Execute, ticker timex.Ticker, opts ...TimingWheelOption) (*TimingWheel, error) {
	if interval <= 0 || numSlots <= 0 || execute == nil || ticker == nil {
		return nil, fmt.Errorf("%w: interval %v, %d slots, function given: %t, ticker given: %t: want positive numbers and both",
			ErrArgument, interval, numSlots, execute != nil, ticker != nil)
	}
	w := newTicked(interval, execute, workersOf(opts))
	go w.run(ticker)
	return &TimingWheel{w}, nil
}

// SetTimer sets the timer of a key to fire after a delay, with a value. If the key
// has a timer, it is moved and its value replaced. The error is [ErrArgument] or
// [ErrClosed].
func (tw *TimingWheel) SetTimer(key, value any, delay time.Duration) error {
	if delay <= 0 || key == nil {
		return ErrArgument
	}
	return plain(tw.wheel.SetTimer(key, value, delay))
}

// MoveTimer makes the timer of a key fire after a delay from now, later or earlier
// than before. It does nothing for a key without a timer, or whose callback has
// begun. The error is [ErrArgument] or [ErrClosed].
func (tw *TimingWheel) MoveTimer(key any, delay time.Duration) error {
	if delay <= 0 || key == nil {
		return ErrArgument
	}
	_, err := tw.wheel.MoveTimer(key, delay)
	return plain(err)
}

// RemoveTimer removes the timer of a key: its callback will not begin. It does nothing
// for a key without a timer. The error is [ErrArgument] or [ErrClosed].
func (tw *TimingWheel) RemoveTimer(key any) error {
	if key == nil {
		return ErrArgument
	}
	_, err := tw.wheel.RemoveTimer(key)
	return plain(err)
}

// Drain removes all timers and calls fn for each, at most 64 at once. It returns when
// all calls have ended. Each timer goes either to fn or to the wheel's own function,
// never to both. fn may use the wheel; Drain leaves the timers that fn sets. The error
// is [ErrArgument] if fn is nil, or [ErrClosed].
func (tw *TimingWheel) Drain(fn func(key, value any)) error {
	if fn == nil {
		return ErrArgument
	}
	return plain(tw.wheel.Drain(fn))
}

// Stop removes all timers. No callback begins afterwards, except one that a worker was
// just about to call. All other methods then return [ErrClosed]. Stop may be called
// again, and by callbacks.
func (tw *TimingWheel) Stop() { tw.wheel.Stop() }

// plain replaces an error that wraps ErrArgument by ErrArgument itself, since programs
// compare the errors of go-zero's wheel with ==.
func plain(err error) error {
	if errors.Is(err, ErrArgument) {
		return ErrArgument
	}
	return err
}

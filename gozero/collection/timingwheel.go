package collection

import (
	"errors"
	"fmt"
	"time"

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

// Execute is what a wheel calls for a timer that is due, with its key and value.
type Execute func(key, value any)

// A TimingWheel calls one function for keys, each at its time. A key has at most
// one timer, with a value. It is made by [NewTimingWheel] or
// [NewTimingWheelWithTicker], and its methods are safe for concurrent use, also by
// callbacks.
//
// A timer fires once. Until its callback begins it can be moved, replaced and
// removed, also when it is due and has to wait for its turn: 64 callbacks run at
// once, in no particular order. What was done last holds. A callback that panics
// harms no other; package log/slog logs it.
type TimingWheel struct {
	wheel wheel
}

// A wheel is what the two kinds of wheels have in common: those that go by the
// clock and those that go by a ticker.
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
// numSlots is how many ticks a revolution has, and must be positive. It is best
// about the usual delay divided by the interval, but no delay is too long for it.
// An error wraps [ErrArgument] and says what was wrong.
//
// The wheel goes by the clock: it has no ticker, and no goroutine between ticks,
// and catches up when the machine was busy.
func NewTimingWheel(interval time.Duration, numSlots int, execute Execute) (*TimingWheel, error) {
	w, err := timingwheel.New[any, any](interval, numSlots, execute)
	if err != nil {
		return nil, err
	}
	return &TimingWheel{w}, nil
}

// NewTimingWheelWithTicker is [NewTimingWheel] with a ticker that says when an
// interval has passed, for tests as a rule. The wheel knows no other time: a timer
// is due after as many ticks as its delay has intervals, rounded up, however far
// apart they are, and ticks that the ticker drops do not count. MoveTimer to less
// than one interval has the callback called at once, as in go-zero, and not counted
// among those 64.
//
// The interval may be of any length, but must be positive, and ticker must not be
// nil. A goroutine of the wheel reads the ticker until Stop, which stops the ticker
// too; it never waits for a callback.
func NewTimingWheelWithTicker(interval time.Duration, numSlots int, execute Execute, ticker timex.Ticker) (*TimingWheel, error) {
	if interval <= 0 || numSlots <= 0 || execute == nil || ticker == nil {
		return nil, fmt.Errorf("%w: interval %v, %d slots, function given: %t, ticker given: %t; want positive numbers and both",
			ErrArgument, interval, numSlots, execute != nil, ticker != nil)
	}
	w := newTicked(interval, numSlots, execute)
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
// than before. It does nothing for a key that has none, or whose callback has
// begun. The error is [ErrArgument] or [ErrClosed].
func (tw *TimingWheel) MoveTimer(key any, delay time.Duration) error {
	if delay <= 0 || key == nil {
		return ErrArgument
	}
	_, err := tw.wheel.MoveTimer(key, delay)
	return plain(err)
}

// RemoveTimer takes the timer of a key off: its callback will not begin any more. It
// does nothing for a key that has none. The error is [ErrArgument] or [ErrClosed].
func (tw *TimingWheel) RemoveTimer(key any) error {
	if key == nil {
		return ErrArgument
	}
	_, err := tw.wheel.RemoveTimer(key)
	return plain(err)
}

// Drain takes all timers off and calls fn for each, 64 at once, and returns when
// all calls have ended. Each timer is given either to fn or to the wheel's own
// function, never to both. fn may use the wheel; timers that it sets stay. The
// error is [ErrArgument] if fn is nil, or [ErrClosed].
func (tw *TimingWheel) Drain(fn func(key, value any)) error {
	if fn == nil {
		return ErrArgument
	}
	return plain(tw.wheel.Drain(fn))
}

// Stop takes all timers off, so that no callback begins any more but one that was
// just being called. All other methods return [ErrClosed] from then on. It may be
// called again, and by callbacks.
func (tw *TimingWheel) Stop() { tw.wheel.Stop() }

// plain returns ErrArgument itself for an error that wraps it, since programs
// compare the errors of go-zero's wheel with ==.
func plain(err error) error {
	if errors.Is(err, ErrArgument) {
		return ErrArgument
	}
	return err
}

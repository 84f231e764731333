package timingwheel

import (
	"context"
	"iter"
	"time"
)

// NewTimer returns a timer that sends the time on its channel after d has passed,
// at the next tick if d is not positive. As in package time, a receive after Stop or
// Reset has returned never gets a time sent before. Unlike there, the channel has a
// capacity of 1, and a timer that waits is not garbage-collected.
func (t *Timers) NewTimer(d time.Duration) *Timer { return t.start(newSender(), t.in(d)) }

// After returns the channel of a new timer: see [Timers.NewTimer]. Once the wheel is
// stopped, nothing is sent on it, nor if the wheel has as many timers as [WithLimit] allows.
func (t *Timers) After(d time.Duration) <-chan time.Time { return t.NewTimer(d).C }

// NewTicker returns a timer that sends the time on its channel at each multiple of
// the interval, rounded up to a tick. As [time.NewTicker] does, it drops a time if
// the one before was not received yet. It panics if the interval is not positive.
// A ticker is not garbage-collected until it is stopped.
func (t *Timers) NewTicker(interval time.Duration) *Timer {
	timer := newSender()
	timer.repeat = &repeat{interval: mustBePositive(interval), times: forever}
	return t.startRepeat(timer)
}

// Ticks returns an iterator over the ticks of a new ticker. It ends when ctx ends,
// when the wheel is stopped, and when the loop breaks; at once if the wheel is full. A loop body that takes longer
// than the interval misses ticks, as with [Timers.NewTicker]. Ticks panics if the
// interval is not positive.
func (t *Timers) Ticks(ctx context.Context, interval time.Duration) iter.Seq[time.Time] {
	mustBePositive(interval)
	return func(yield func(time.Time) bool) {
		ticker := t.NewTicker(interval)
		defer ticker.Stop()
		for !ticker.Refused() {
			select {
			case now := <-ticker.C:
				if ctx.Err() != nil || !yield(now) {
					return
				}
			case <-ctx.Done():
				return
			case <-t.done:
				return
			}
		}
	}
}

// Sleep waits until d has passed and returns nil. It returns the cause of ctx if ctx
// ends first, [ErrClosed] if the wheel is stopped first, and [ErrFull] at once if it has as many
// timers as [WithLimit] allows. It does not wait if d is not positive, as in package time.
func (t *Timers) Sleep(ctx context.Context, d time.Duration) error {
	t.checkUse()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := t.NewTimer(d)
	defer timer.Stop()
	if timer.Refused() {
		return ErrFull
	}
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.done:
		return ErrClosed
	}
}

// newSender returns a timer that sends on its channel.
func newSender() *Timer {
	c := make(chan time.Time, 1)
	send := func() {
		select {
		case c <- time.Now():
		default: // the last was not received yet
		}
	}
	return &Timer{C: c, f: send, sends: true}
}

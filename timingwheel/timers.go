package timingwheel

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/affinity"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// Timers are timers by handle, as those of package time, on a wheel: cheaper to
// start, stop and reset when there are many, and due within a tick instead of at
// once. They are made by [NewTimers], and the methods are safe for concurrent
// use, also by callbacks.
//
// A timer fires never before its time, and at most one tick after it, if a worker
// is free. Channels and sleepers need no worker.
//
// While timers wait the wheel stays in memory, whoever else holds it.
type Timers struct {
	wheel
	shards []atomic.Pointer[timerShard] // made when first used; nil again after Stop
	shift  uint8                        // a shard is chosen by the top bits of a hash: 64 - log2(len)
	slots  int                          // of each shard's ring
}

// NewTimers returns timers with a tick of the given interval, on a wheel with a
// number of slots; [New] says what they mean. An error wraps [ErrArgument] and
// says what was wrong.
func NewTimers(interval time.Duration, slots int, opts ...Option) (*Timers, error) {
	o, err := newOptions(interval, slots, opts)
	if err != nil {
		return nil, err
	}
	if o.limitSet {
		return nil, fmt.Errorf("%w: Timers have no error to return at a limit, use a TimingWheel", ErrArgument)
	}
	slots = ringSlots(slots, interval)
	t := &Timers{
		shards: make([]atomic.Pointer[timerShard], shardCount(slots, runtime.GOMAXPROCS(0))),
		slots:  slots,
	}
	t.shift = uint8(64 - bits.TrailingZeros(uint(len(t.shards))))
	t.wheel.init(interval, len(t.shards), o)
	t.unregister = register(o.name, t, (*Timers).Stats)
	return t, nil
}

// AfterFunc calls f after d has passed, in a goroutine of the wheel: at the next
// tick if d is not positive. After Stop it returns a timer that does not fire. It
// panics if f is nil, where package time panics when the timer fires.
func (t *Timers) AfterFunc(d time.Duration, f func()) *Timer {
	return t.start(&Timer{f: mustBeSet(f)}, t.in(d))
}

// At calls f at a moment, or at the next tick if it has passed. If the wall clock
// is changed later, f is still called after the time that the moment was away
// when At was called. It panics if f is nil.
func (t *Timers) At(when time.Time, f func()) *Timer {
	return t.start(&Timer{f: mustBeSet(f)}, t.at(when))
}

// Every calls f again and again, first after one interval. It panics if the
// interval is not positive, as [time.NewTicker] does, or f is nil.
//
// The rate is fixed: the calls are planned for whole multiples of the interval
// since the start, each rounded up to a tick, so that they do not drift. But a call
// that still runs when the tick of the next begins swallows it, and so does a stall
// of the machine: the calls for one timer never overlap, and what was missed is not
// made up for in a burst, which would hit the program just when it is behind. An
// interval shorter than a tick comes down to one call in a tick.
//
// A panic in f does not end it. Stop, also during a call and by f itself, does.
func (t *Timers) Every(interval time.Duration, f func()) *Timer {
	return t.startRepeat(&Timer{f: mustBeSet(f), repeat: &repeat{interval: mustBePositive(interval), times: forever}})
}

// Repeat is [Timers.Every] for exactly the given number of calls; what is
// swallowed does not count. With 0 times it returns a timer that does not fire,
// and it panics if times is negative.
func (t *Timers) Repeat(times int, interval time.Duration, f func()) *Timer {
	if times < 0 {
		panic(fmt.Sprintf("timingwheel: Repeat %d times, want 0 or more", times))
	}
	return t.startRepeat(&Timer{f: mustBeSet(f), repeat: &repeat{interval: mustBePositive(interval), times: times}})
}

// A Scheduler says when something is to happen, as the expressions of cron do.
type Scheduler interface {
	// Next returns the next moment after the given one, or the zero Time if
	// there is none. It is not asked once for each call: what it answers must
	// not depend on what it was asked before.
	Next(after time.Time) time.Time
}

// Schedule calls f at the moments that a Scheduler says. It asks for the moment
// after the present one first, and after each call for the one after that for which
// the call was planned; so a Next that adds an interval does not drift. If that
// moment is over, because the call or the machine took too long, it asks for the
// one after the present: as with [Timers.Every], calls neither overlap nor burst.
//
// Next is called by the goroutine that calls Schedule first, and then by workers,
// not by two at once. Should it panic, that was the last call. Schedule panics if s
// or f is nil.
func (t *Timers) Schedule(s Scheduler, f func()) *Timer {
	if s == nil {
		panic("timingwheel: Schedule without a Scheduler")
	}
	return t.startRepeat(&Timer{f: mustBeSet(f), repeat: &repeat{scheduler: s, times: forever}})
}

// Len returns the number of timers, those counted that are due and whose
// callbacks have not begun. A timer of Every, Repeat or Schedule does not count
// during its call.
func (t *Timers) Len() int {
	n := 0
	for s := range made(t.shards) {
		n += s.len()
	}
	return n
}

// Stats returns what the timers have done since NewTimers, as it is shown by
// [stats.Handler]. A timer that repeats counts as started for each of its calls.
// What others change meanwhile it may or may not see.
func (t *Timers) Stats() stats.WheelSnapshot { return t.stats() }

// Stop stops all timers, so that no callback begins any more but one that was just
// being called; [Timers.Shutdown] waits for that too. Sleepers return, and the
// timers that methods return from then on do not fire. Stop may be called again,
// and by callbacks.
func (t *Timers) Stop() { stop(&t.wheel, t.shards) }

// Shutdown is [Timers.Stop], and waits until all callbacks have ended.
// If ctx ends before that it returns the cause; it may be called again, to go on
// waiting. Called by a callback, of this wheel or another, it stops the wheel and
// returns an error instead of waiting for itself.
func (t *Timers) Shutdown(ctx context.Context) error {
	t.Stop()
	return t.drained(ctx)
}

// stay is for how long, as a power of two of nanoseconds, a goroutine comes back
// to the same shard: long enough to have it in its processor's cache, and short
// enough for one that starts all timers of a program to spread them.
const stay = 20

// start gives a new timer its place and its deadline.
func (t *Timers) start(timer *Timer, wait span) *Timer {
	place := affinity.Hint() + uint64(wait.now>>stay)*0x9E3779B97F4A7C15
	timer.shard = t.shardAt(int(place >> t.shift))
	timer.shard.start(timer, wait)
	return timer
}

// shardAt returns shard i, or a closed one after Stop.
func (t *Timers) shardAt(i int) *timerShard {
	if s := t.shards[i].Load(); s != nil {
		return s
	}
	if s := makeShard(&t.wheel, &t.shards[i], func(s *timerShard) { s.init(t, i) }); s != nil {
		return s
	}
	closed := new(timerShard)
	closed.init(t, i)
	closed.closed = true
	return closed
}

// startRepeat starts a timer that repeats.
func (t *Timers) startRepeat(timer *Timer) *Timer {
	if first, ok := timer.repeat.begin(&t.clock); ok {
		return t.start(timer, first)
	}
	timer.shard = t.shardAt(0)
	return timer
}

func mustBeSet(f func()) func() {
	if f == nil {
		panic("timingwheel: a timer without a function")
	}
	return f
}

func mustBePositive(interval time.Duration) int64 {
	if interval <= 0 {
		panic(fmt.Sprintf("timingwheel: an interval of %v, want a positive one", interval))
	}
	return int64(interval)
}

package timingwheel

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/affinity"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// Timers are timers by handle, as in package time, on a wheel: cheaper to start, stop
// and reset when there are many, but rounded up to a tick. They are made by
// [NewTimers]. The methods are safe for concurrent use, also by callbacks.
//
// A timer never fires before its time, and at most one tick after it if a worker is
// free, as far as the runtime's own timers are on time. Channels and sleepers need no worker.
//
// While timers wait, the wheel is not garbage-collected.
type Timers struct {
	wheel
	shards []atomic.Pointer[timerShard] // made when first used; nil again after Stop
	shift  uint8                        // a shard is chosen by the top bits of a hash: 64 - log2(len)
}

// NewTimers returns timers on a wheel with a tick of the given interval and the given
// number of slots, both as in [New]. An error wraps [ErrArgument] and says what was
// wrong.
func NewTimers(interval time.Duration, slots int, opts ...Option) (*Timers, error) {
	o, err := newOptions(interval, slots, opts)
	if err != nil {
		return nil, err
	}
	slots = ringSlots(slots, interval)
	t := &Timers{
		shards: make([]atomic.Pointer[timerShard], shardCount(slots, runtime.GOMAXPROCS(0))),
	}
	t.shift = uint8(64 - bits.TrailingZeros(uint(len(t.shards))))
	t.wheel.init(interval, slots, len(t.shards), o)
	t.unregister = register(o.name, t, (*Timers).Stats, o.settings(interval, slots))
	return t, nil
}

// AfterFunc calls f after d has passed, in a goroutine of the wheel: at the next
// tick if d is not positive. After Stop it returns a timer that does not fire. It
// panics if f is nil; package time would panic when the timer fires.
func (t *Timers) AfterFunc(d time.Duration, f func()) *Timer {
	return t.start(&Timer{f: mustBeSet(f)}, t.in(d))
}

// At calls f at a moment, or at the next tick if the moment has passed. It measures
// the wait once: a later change of the wall clock does not change when f is called.
// It panics if f is nil.
func (t *Timers) At(when time.Time, f func()) *Timer {
	return t.start(&Timer{f: mustBeSet(f)}, t.at(when))
}

// Every calls f at each interval, first after one interval. It panics if the
// interval is not positive, as [time.NewTicker] does, or if f is nil.
//
// The rate is fixed: calls are planned for whole multiples of the interval since the
// start, each rounded up to a tick, so they do not drift. If a call still runs when
// the tick of the next begins, or the machine stalls, calls are skipped: the calls of
// one timer never overlap, and missed ones are not made up for in a burst, which
// would hit the program just when it is behind. An interval shorter than a tick
// gives one call per tick.
//
// A panic in f does not end the calls. Stop does, also during a call and by f itself.
func (t *Timers) Every(interval time.Duration, f func()) *Timer {
	return t.startRepeat(&Timer{f: mustBeSet(f), repeat: &repeat{interval: mustBePositive(interval), times: forever}})
}

// EveryFrom is [Timers.Every] whose first call is at a moment, and the others whole multiples of the
// interval later. Those that have passed are skipped: EveryFrom(midnight, 24*time.Hour, f), with
// a midnight of any day, calls f at each midnight to come. The wait is measured once: a later change of the
// wall clock, as for daylight saving, does not change it; [Timers.Schedule] follows it.
func (t *Timers) EveryFrom(when time.Time, interval time.Duration, f func()) *Timer {
	r := &repeat{interval: mustBePositive(interval), times: forever, left: forever}
	wait := time.Until(when)
	for wait == math.MinInt64 { // or longer ago
		when = when.Add(math.MaxInt64 / interval * interval)
		wait = time.Until(when)
	}
	if wait < 0 {
		wait = (wait%interval + interval) % interval
	}
	first := t.in(wait)
	r.plan(first.deadline, time.Time{})
	return t.start(&Timer{f: mustBeSet(f), repeat: r}, first)
}

// Repeat is [Timers.Every] for exactly the given number of calls; skipped calls do
// not count. If times is 0 it returns a timer that does not fire. It panics if times
// is negative.
func (t *Timers) Repeat(times int, interval time.Duration, f func()) *Timer {
	if times < 0 {
		panic(fmt.Sprintf("timingwheel: times of Repeat is %d: want 0 or more", times))
	}
	return t.startRepeat(&Timer{f: mustBeSet(f), repeat: &repeat{interval: mustBePositive(interval), times: times}})
}

// Schedule calls f at the moments that a Scheduler returns. It first asks for the
// moment after the present. After each call it asks for the moment after the call's
// planned one, so a Next that adds an interval does not drift. If the answer has passed,
// because the call or the machine took too long, it asks for the moment after the
// present: as with [Timers.Every], calls neither overlap nor burst.
//
// Next is first called by the goroutine that calls Schedule, and then by workers,
// never by two at once. If it panics, f is not called again. Schedule panics if s or f
// is nil.
func (t *Timers) Schedule(s Scheduler, f func()) *Timer {
	if s == nil {
		panic("timingwheel: the Scheduler of Schedule is nil: want one")
	}
	return t.startRepeat(&Timer{f: mustBeSet(f), repeat: &repeat{scheduler: s, times: forever}})
}

// Len returns the number of timers, including those that are due and whose
// callbacks have not begun. A timer of Every, Repeat or Schedule does not count
// during its call.
func (t *Timers) Len() int {
	n := 0
	for s := range made(t.shards) {
		n += s.len()
	}
	return n
}

// All returns an iterator over the timers that wait, each with the moment at which it is due, in no
// particular order; those of Sleep, After and Ticks too. It holds no lock while the loop body runs, so
// the body may stop and reset them. Concurrent changes may or may not be seen. A timer that waits throughout the iteration is
// yielded exactly once.
func (t *Timers) All() iter.Seq2[*Timer, time.Time] {
	return func(yield func(*Timer, time.Time) bool) {
		t.checkUse()
		for s := range made(t.shards) {
			if !s.each(func(timer *Timer, due time.Time) bool {
				if deadline := timer.state.Load(); deadline > 0 { // Reset may have made it later than the ring knows
					due = t.moment(t.of(t.dueTick(deadline)))
				}
				return yield(timer, due)
			}) {
				return
			}
		}
	}
}

// Stats returns the statistics since NewTimers, as shown by [stats.Handler]. A timer
// that repeats counts as started for each of its calls. Concurrent changes may or may
// not be counted.
func (t *Timers) Stats() stats.WheelSnapshot { return t.stats() }

// Stop stops all timers. No callback begins afterwards, except one that a worker was
// just about to call; [Timers.Shutdown] waits for that too. Sleepers return, and
// timers made later do not fire. Stop may be called again, and by callbacks.
func (t *Timers) Stop() { stop(&t.wheel, t.shards) }

// Shutdown is [Timers.Stop], and then waits until all callbacks have ended. If ctx
// ends first it returns the cause of ctx; call it again to go on waiting. Called by a
// callback, of this wheel or another, it stops the wheel and returns an error instead
// of waiting for itself.
func (t *Timers) Shutdown(ctx context.Context) error {
	t.Stop()
	return t.drained(ctx)
}

// A goroutine uses the same shard for 2 to the power of sameShardFor nanoseconds: long
// enough to find it in its processor's cache, and short enough that a goroutine which
// starts all timers of a program spreads them.
const sameShardFor = 20

// start gives a new timer a shard and its deadline.
func (t *Timers) start(timer *Timer, wait span) *Timer {
	place := affinity.Hint() + uint64(wait.now>>sameShardFor)*0x9E3779B97F4A7C15
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
	t.checkUse()
	timer.shard = t.shardAt(0)
	return timer
}

func mustBeSet(f func()) func() {
	if f == nil {
		panic("timingwheel: the function of a timer is nil: want one")
	}
	return f
}

package timingwheel

import (
	"sync/atomic"
	"time"
)

// A Timer is one timer of [Timers], made by their methods. Stop and Reset mean
// what they mean in package time (Go 1.23 and later) and are safe for concurrent
// use.
type Timer struct {
	// C is where the time is sent; nil unless the timer was made by NewTimer or
	// NewTicker.
	C <-chan time.Time

	f     func() // what to call; sends on C if sends is set
	shard *timerShard

	// state is the deadline, if it is positive, or one of the states below. It is
	// changed with shard.mu held, but for one case: Reset makes a deadline later
	// without it, by a compare-and-swap. So it has to be changed by a swap also
	// with the lock held.
	//
	// Invariant: the task of a timer with a deadline is due no later than the
	// first tick after that. It may be due before; the visit puts it off then.
	state atomic.Int64

	repeat *repeat // nil if there is one call only; what it points to is guarded by shard.mu
	slot   uint32  // the task number, while there is a task; guarded by shard.mu
	sends  bool    // the driver calls f, with shard.mu held; otherwise a worker does
}

const (
	stopped = 0  // it has no task: it has fired, was stopped, or never started
	claimed = -1 // it is due, and has a task in the due list
	running = -2 // it repeats, and has no task: the call that runs will set the next
)

// Stop keeps the timer from firing, and one that repeats from firing again. It
// returns true if it did, and false if the timer had fired or was stopped already.
// A callback that has begun is not waited for. After Stop nothing more is received
// from C.
//
// A timer that repeats is always stopped for good, also during a call and by the
// callback itself.
func (t *Timer) Stop() bool {
	s := t.mustShard()
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return t.unsend()
	}
	was := t.state.Swap(stopped)
	if was > 0 || was == claimed {
		s.drop(t.slot)
		s.counts.removed++
		s.maybeShrink()
	}
	return t.unsend() || was != stopped
}

// Reset makes the timer fire after d from now, as if it had been started now. It
// returns true if the timer was waiting, or repeating, and false if it had fired
// or was stopped. After Reset nothing is received from C that was sent before.
//
// A timer that fires once does so at the next tick if d is not positive. To make it
// later takes no lock.
//
// A timer of Every, Repeat or NewTicker has the interval d from then on, as with
// [time.Ticker.Reset]; Reset panics if d is not positive. One of Repeat has all its
// calls again. One of Schedule is called after d, and then at the moments that
// follow.
//
// Reset never waits for a callback. One that runs may overlap with the next, as in
// package time, but not if the timer repeats: then the next begins when it is due
// and the one that runs has ended.
func (t *Timer) Reset(d time.Duration) bool {
	s := t.mustShard()
	if t.repeat != nil && t.repeat.scheduler == nil {
		mustBePositive(d)
	}
	wait := s.clock.in(d)
	if was := t.state.Load(); was > 0 && wait.deadline >= was && t.repeat == nil && t.state.CompareAndSwap(was, wait.deadline) {
		return true
	}
	return s.reset(t, wait)
}

// mustShard returns the shard of the timer. A Timer that was not made by Timers has
// none.
func (t *Timer) mustShard() *timerShard {
	if t.shard == nil {
		panic("timingwheel: Stop or Reset of a Timer that was not made by Timers")
	}
	return t.shard
}

// unsend takes back what was sent on C and not received. It reports whether there
// was something. shard.mu must be held, which keeps the driver from sending. C of
// another timer is its owner's.
func (t *Timer) unsend() bool {
	if !t.sends {
		return false
	}
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

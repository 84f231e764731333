package timingwheel

import "time"

// A Timer is one timer of [Timers], made by their methods. Stop and Reset mean
// what they mean in package time (Go 1.23 and later) and are safe for concurrent
// use.
type Timer struct {
	// C is the channel on which the time is sent. It is nil unless the timer was
	// made by NewTimer or NewTicker.
	C <-chan time.Time

	f     func() // what to call; sends on C if sends is set
	shard *timerShard

	// state is the deadline, if positive, or one of the states below. It changes
	// with shard.mu held, except that Reset makes a deadline later by a
	// compare-and-swap without the lock. So every other change must be a swap too.
	//
	// Invariant: the task of a timer with a deadline is due no later than the first
	// tick at or after the deadline. It may be due earlier; the visit then postpones
	// it. The last Reset may have meant a later deadline at the same tick.
	state timerState

	repeat *repeat // nil if there is one call only; what it points to is guarded by shard.mu
	task   uint32  // the task number, while there is a task; guarded by shard.mu
	sends  bool    // the driver calls f, with shard.mu held; otherwise a worker does
}

// Stop keeps the timer from firing, or from firing again if it repeats. It
// returns true if it did, and false if the timer had fired or was stopped already.
// It does not wait for a callback that has begun. After Stop nothing more is received
// from C.
//
// A timer that repeats can be stopped at any time, also during a call and by the
// callback itself.
func (t *Timer) Stop() bool {
	s := t.mustShard()
	if t.sends {
		s.clock.checkUse() // a receive across the border of a bubble ends the process
	}
	s.mu.Lock()
	was := int64(noTask)
	if !s.closed {
		if was = t.state.Swap(noTask); was > 0 || was == claimed {
			s.drop(t.task)
			s.owner.quota.release(1)
			s.counts.removed++
			s.maybeShrink()
		}
	}
	unsent := t.unsend()
	s.unlock()
	return unsent || was != noTask && was != refused
}

// Refused reports whether the timer does not fire because the wheel had as many timers as [WithLimit]
// allows when it was started or reset last. A later Reset tries again.
func (t *Timer) Refused() bool { return t.state.Load() == refused }

// Reset makes the timer fire after d from now, as if it had been started now. It
// returns true if the timer was waiting, or repeating, and false if it had fired
// or was stopped. After Reset nothing is received from C that was sent before.
//
// If d is not positive, a timer that fires once fires at the next tick. Making its
// deadline later takes no lock, and writes nothing if the new one is due at the same tick.
//
// A timer of Every, Repeat or NewTicker has the interval d from then on, as with
// [time.Ticker.Reset]; Reset panics if d is not positive. A timer of Repeat has all
// its calls again. A timer of Schedule is called after d, and then at the moments
// that follow.
//
// Reset never waits for a callback. The running one may overlap with the next, as in
// package time. If the timer repeats, calls do not overlap: the next begins when it is
// due and the running one has ended.
func (t *Timer) Reset(d time.Duration) bool {
	s := t.mustShard()
	if t.repeat != nil && t.repeat.scheduler == nil {
		mustBePositive(d)
	}
	wait := s.clock.in(d)
	if was := t.state.Load(); was > 0 && wait.deadline >= was && t.repeat == nil {
		if s.clock.sameTick(was, wait.deadline) || t.state.CompareAndSwap(was, wait.deadline) {
			return true
		}
	}
	return s.reset(t, wait)
}

// mustShard returns the shard of the timer. It panics for a Timer that was not made
// by Timers.
func (t *Timer) mustShard() *timerShard {
	if t.shard == nil {
		panic("timingwheel: Stop or Reset of a Timer that is not of Timers: want one of AfterFunc, NewTimer or another of its methods")
	}
	return t.shard
}

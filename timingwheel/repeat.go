package timingwheel

import (
	"fmt"
	"math"
	"time"
)

const forever = -1

// A Scheduler says when something is to happen, as the expressions of cron do.
type Scheduler interface {
	// Next returns the first moment after the given one, or the zero Time if
	// there is none. It may be called more or less often than once per call of
	// the callback: its result must depend only on its argument.
	Next(after time.Time) time.Time
}

// A repeat says when a timer fires again. It is guarded by the lock of the timer's
// shard.
type repeat struct {
	interval  int64     // in nanoseconds, unless there is a scheduler
	scheduler Scheduler // or nil
	times     int       // calls in all, or forever
	left      int       // calls that have not begun, or forever
	planned   int64     // when the waiting or running call was to begin; 0 before the first
	moment    time.Time // the same, as returned by the scheduler; zero before the first
	calling   bool      // a call is running
	restarted bool      // Reset was called since that call began
}

// begin returns the span until the first call, and false if there is none.
func (r *repeat) begin(c *clock) (wait span, ok bool) {
	r.left = r.times
	wait, moment, ok := r.next(c)
	r.plan(wait.deadline, moment)
	return wait, ok
}

// next returns the span until the call after the planned one, and false if there is
// none. It calls the user's scheduler, so no lock may be held if there is one; r
// may be a copy.
func (r *repeat) next(c *clock) (wait span, moment time.Time, ok bool) {
	switch {
	case r.left == 0:
		return span{}, moment, false
	case r.scheduler != nil:
		return r.nextMoment(c)
	default:
		return r.nextInterval(c), moment, true
	}
}

// nextInterval returns the span until the next multiple of the interval whose tick
// has not begun. A call always begins some time after its tick: this alone must not
// make it skip the next.
func (r *repeat) nextInterval(c *clock) span {
	now := c.now()
	if r.planned == 0 {
		r.planned = now
	}
	missed := max(c.of(c.ticks(now))-r.planned, 0) / r.interval
	deadline := r.planned + (missed+1)*r.interval
	if deadline < r.planned {
		deadline = math.MaxInt64
	}
	return span{now, deadline}
}

// nextMoment asks the scheduler for the moment after the planned one. If its tick has
// begun already, the call is missed, and nextMoment asks for the first moment after the
// present.
func (r *repeat) nextMoment(c *clock) (wait span, moment time.Time, ok bool) {
	if !r.moment.IsZero() {
		moment = r.scheduler.Next(r.moment)
		now, left := c.now(), int64(time.Until(moment))
		if moment.IsZero() || left > 0 || !c.passed(now+left, now) {
			return c.at(moment), moment, !moment.IsZero()
		}
	}
	moment = r.scheduler.Next(time.Now())
	return c.at(moment), moment, !moment.IsZero()
}

// plan records when the next call is to begin.
func (r *repeat) plan(deadline int64, moment time.Time) { r.planned, r.moment = deadline, moment }

// restart starts the timer again: the first call is at the end of a span, and the
// length of the span is the interval.
func (r *repeat) restart(wait span, moment time.Time) {
	r.interval = wait.deadline - wait.now
	r.left = r.times
	r.plan(wait.deadline, moment)
	r.restarted = true
}

// claim counts a call that begins now. It reports whether another may follow.
func (r *repeat) claim() (more bool) {
	r.calling, r.restarted = true, false
	if r.left != forever {
		r.left--
	}
	return r.left != 0
}

func mustBePositive(interval time.Duration) int64 {
	if interval <= 0 {
		panic(fmt.Sprintf("timingwheel: interval is %v: want a positive one", interval))
	}
	return int64(interval)
}

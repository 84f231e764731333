package timingwheel

import (
	"math"
	"time"
)

const forever = -1

// A repeat says when a timer fires again. It is guarded by the lock of the timer's
// shard.
type repeat struct {
	interval  int64     // in nanoseconds, unless there is a scheduler
	scheduler Scheduler // or nil
	times     int       // calls in all, or forever
	left      int       // calls that have not begun, or forever
	planned   int64     // when the call that waits or runs was to begin
	moment    time.Time // the same as the scheduler said it
	calling   bool      // a call is running
	restarted bool      // by Reset, since that call began
}

// begin returns the span until the first call, and false if there is none.
func (r *repeat) begin(c *clock) (wait span, ok bool) {
	r.left = r.times
	wait, moment, ok := r.next(c)
	r.plan(wait.deadline, moment)
	return wait, ok
}

// next returns the span until the call after the planned one, and false if there is
// none. It calls the user's scheduler, so no lock may be
// held; r may be a copy.
func (r *repeat) next(c *clock) (wait span, moment time.Time, ok bool) {
	if r.left == 0 {
		return span{}, moment, false
	}
	if r.scheduler != nil {
		// By the wall clock, which may have been set back since.
		after := time.Now()
		if r.moment.After(after) {
			after = r.moment
		}
		moment = r.scheduler.Next(after)
		return c.at(moment), moment, !moment.IsZero()
	}
	now := c.now()
	if r.planned == 0 {
		r.planned = now
	}
	missed := (now - r.planned) / r.interval
	deadline := r.planned + (missed+1)*r.interval
	if deadline < r.planned {
		deadline = math.MaxInt64
	}
	return span{now, deadline}, moment, true
}

// plan notes when the next call is to begin.
func (r *repeat) plan(deadline int64, moment time.Time) { r.planned, r.moment = deadline, moment }

// restart makes the timer begin anew with a call at a deadline.
func (r *repeat) restart(deadline int64, moment time.Time) {
	r.left = r.times
	r.plan(deadline, moment)
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

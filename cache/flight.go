// This file has the context of a load, which its callers share.

package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A flight is the context of a load, and counts the callers that wait for it. It has the
// values of the first caller's context, and ends as the context of the last one that left. Its
// lock comes after those of shards. Under neither is a context of the user asked for anything:
// see caller.
//
// No context of package context can do this: none ends with an error that is known only at the
// end.
type flight struct {
	first      context.Context // of the first caller
	late       chan struct{}   // closed at the Timeout; nil without one
	timer      *time.Timer     // closes late; nil without a Timeout
	limit      time.Time       // when the Timeout ends
	owner      *permits        // of the cache
	background bool            // the load goes on when no caller waits
	over       atomic.Bool     // the fetch has ended

	mu      sync.Mutex
	done    chan struct{}   // closed when the context ends; nil while nobody waits for that
	callers int             // how many wait
	err     error           // the error of the ended context; nil before
	cause   error           // likewise
	values  context.Context // that of the first caller without its end; nil until Value needs it
	ended   context.Context // likewise, has ended with err and cause
	permit  *permit         // that the load has until its fetch has ended, with MaxLoads
	lend    func()          // tells a load that waits for a permit that it was lent one; nil if none waits
}

// start makes f the context of a load that a caller began.
func (f *flight) start(who *caller, owner *permits) {
	f.first, f.owner = who.ctx, owner
	f.callers = 1
	if who.timeout > 0 {
		f.late = make(chan struct{})
		f.limit = time.Now().Add(who.timeout)
		f.timer = time.AfterFunc(who.timeout, func() {
			f.end(context.DeadlineExceeded, ErrTimeout)
			close(f.late)
		})
	}
}

// runInBackground makes f a flight that goes on without callers. Nobody else may know f yet.
func (f *flight) runInBackground() {
	f.background = true
	f.callers = 0
}

// awaited reports whether a caller waits for the load.
func (f *flight) awaited() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.callers > 0
}

// join adds a caller, unless the context has ended.
func (f *flight) join() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return false
	}
	f.callers++
	return true
}

// leave removes a caller. If it is the last one, the context ends with err and cause, which
// say why the caller leaves; neither is nil, and err is one of package context.
func (f *flight) leave(err, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.callers--; f.callers == 0 && !f.background {
		f.endLocked(err, cause)
	}
}

// isLate reports whether the load has taken longer than Timeout.
func (f *flight) isLate() bool {
	select {
	case <-f.late:
		return true
	default:
		return false
	}
}

// end ends the context, if it has not ended yet.
func (f *flight) end(err, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked(err, cause)
}

func (f *flight) endLocked(err, cause error) {
	if f.err != nil {
		return
	}
	f.err, f.cause = err, cause
	if f.done != nil {
		close(f.done)
	}
}

// finish ends the context of a load that has ended.
func (f *flight) finish() {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.end(context.Canceled, context.Canceled)
}

// endedContext returns a context that has ended with an error of package context, and a
// cause.
func endedContext(values context.Context, err, cause error) context.Context {
	if err == context.DeadlineExceeded {
		ctx, cancel := context.WithDeadlineCause(values, time.Unix(0, 0), cause)
		defer cancel()
		return ctx
	}
	ctx, cancel := context.WithCancelCause(values)
	cancel(cause)
	return ctx
}

// Deadline returns the end of the Timeout. It tells no deadline of a caller: another caller may
// join and postpone that, and package context sets no timer for a time-out that ends later than
// Deadline says.
func (f *flight) Deadline() (deadline time.Time, ok bool) { return f.limit, !f.limit.IsZero() }

func (f *flight) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done == nil {
		f.done = make(chan struct{})
		if f.err != nil {
			close(f.done)
		}
	}
	return f.done
}

func (f *flight) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// valuesLocked returns ended after the end, else values. It makes them at the first call: nobody
// asks for those of most loads.
func (f *flight) valuesLocked() context.Context {
	if f.values == nil {
		f.values = context.WithoutCancel(f.first)
	}
	if f.err == nil {
		return f.values
	}
	if f.ended == nil {
		f.ended = endedContext(f.values, f.err, f.cause)
	}
	return f.ended
}

// Value returns a value of the first caller's context, or f itself for flightOf. When f has
// ended, it asks ended, so that [context.Cause] finds the cause.
func (f *flight) Value(key any) any {
	if of, ok := key.(flightOf); ok && of.owner == f.owner {
		return f
	}
	f.mu.Lock()
	values := f.valuesLocked()
	f.mu.Unlock()
	return values.Value(key)
}

// Package flight has what the callers of a load share, whatever its key and value: the context of the
// fetch, how callers wait and leave, and the permits of MaxLoads.
package flight

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Flight is the context of a load, and counts the callers that wait for it. It has the
// values of the first caller's context, and ends as the context of the last one that left. Its
// lock may be taken with locks of the cache held. Under neither is a context of the user asked for
// anything: see [Caller].
//
// No context of package context can do this: none ends with an error that is known only at the
// end.
//
// The zero value is one that [Flight.Start] makes a flight.
type Flight struct {
	base       context.Context // of the first caller
	late       chan struct{}   // closed at the time-out; nil without one
	timer      *time.Timer     // closes late; nil without a time-out
	limit      time.Time       // when the time-out ends
	owner      *Rules          // of the cache
	background bool            // the load goes on when no caller waits
	free       bool            // the load needs no permit, as it began without MaxLoads
	over       atomic.Bool     // the fetch has ended
	counted    atomic.Bool     // the load is counted, or has timed out
	fetching   atomic.Bool     // the fetch has begun
	waited     time.Duration   // for a permit; of the goroutine that runs the load

	mu      sync.Mutex
	done    chan struct{}   // closed when the context ends; nil while nobody waits for that
	callers int             // how many wait
	err     error           // the error of the ended context; nil before
	cause   error           // likewise
	values  context.Context // that of the first caller without its end; nil until Value needs it
	ended   context.Context // likewise, has ended with err and cause
	inner   context.Context // what Enter got; nil before
	permit  *Permit         // that the load has until its fetch has ended, with MaxLoads
	ready   chan struct{}   // closed when a load that waits for a permit gets one; nil before it waits
}

// Start makes f the context of a load that a caller begins, and for which it waits.
func (f *Flight) Start(who *Caller) {
	f.base, f.owner = who.Ctx, who.rules
	p := f.owner.permits.Load()
	f.free = p == nil || p.most.Load() == 0
	f.callers = 1
	if timeout := f.owner.timeout; timeout > 0 {
		f.late = make(chan struct{})
		f.limit = time.Now().Add(timeout)
		f.timer = time.AfterFunc(timeout, func() {
			first := f.Claim() // before the fetch, which may heed its context
			f.End(context.DeadlineExceeded, f.owner.tooLate)
			if first {
				f.owner.observer.TimedOut(timeout)
			}
			close(f.late)
		})
	}
}

// RunInBackground makes f a flight that goes on without callers, with what TryAcquire has returned. Nobody
// else may know f yet.
func (f *Flight) RunInBackground(held *Permit) {
	f.background, f.callers = true, 0
	f.permit, f.free = held, held == nil
}

// InBackground reports whether the load goes on without callers.
func (f *Flight) InBackground() bool { return f.background }

// Over reports whether the fetch has ended.
func (f *Flight) Over() bool { return f.over.Load() }

// Claim returns true to the first who asks: it is to count the load, which happens once, though a fetch
// may end long after its time-out.
func (f *Flight) Claim() bool { return f.counted.CompareAndSwap(false, true) }

// Fetch says that the fetch begins, and Fetching reports whether it has begun.
func (f *Flight) Fetch()         { f.fetching.Store(true) }
func (f *Flight) Fetching() bool { return f.fetching.Load() }

// Waited returns how long the load has waited for a permit. It is for the goroutine that runs the load.
func (f *Flight) Waited() time.Duration { return f.waited }

// Enter notes the context that the fetch has made of f for what it does, and Inner returns it; nil if there is none.
func (f *Flight) Enter(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inner = ctx
}

func (f *Flight) Inner() context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inner
}

// Awaited reports whether a caller waits for the load.
func (f *Flight) Awaited() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.callers > 0
}

// Join adds a caller, unless the context has ended.
func (f *Flight) Join() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return false
	}
	f.callers++
	return true
}

// Leave removes a caller. If it is the last one, the context ends with err and cause, which
// say why the caller leaves; neither is nil, and err is one of package context.
func (f *Flight) Leave(err, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.callers--; f.callers == 0 && !f.background {
		f.endLocked(err, cause)
	}
}

// IsLate reports whether the load has taken longer than its time-out.
func (f *Flight) IsLate() bool {
	select {
	case <-f.late:
		return true
	default:
		return false
	}
}

// End ends the context, if it has not ended yet.
func (f *Flight) End(err, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endLocked(err, cause)
}

func (f *Flight) endLocked(err, cause error) {
	if f.err != nil {
		return
	}
	f.err, f.cause = err, cause
	if f.done != nil {
		close(f.done)
	}
}

// Finish ends the context of a load that has ended.
func (f *Flight) Finish() {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.End(context.Canceled, context.Canceled)
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

// Deadline returns the end of the time-out. It tells no deadline of a caller: another caller may
// Join and postpone that, and package context sets no timer for a time-out that ends later than
// Deadline says.
func (f *Flight) Deadline() (deadline time.Time, ok bool) { return f.limit, !f.limit.IsZero() }

func (f *Flight) Done() <-chan struct{} {
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

func (f *Flight) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// valuesLocked returns ended after the end, else values. It makes them at the first call: nobody
// asks for those of most loads.
func (f *Flight) valuesLocked() context.Context {
	if f.values == nil {
		f.values = context.WithoutCancel(f.base)
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
func (f *Flight) Value(key any) any {
	if of, ok := key.(flightOf); ok && of.owner == f.owner {
		return f
	}
	f.mu.Lock()
	values := f.valuesLocked()
	f.mu.Unlock()
	return values.Value(key)
}

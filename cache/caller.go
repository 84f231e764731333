// This file has what a load must know of its callers, the calls of the Takes, and how they wait.

package cache

import (
	"context"
	"time"
)

// A caller is a call of one of the Takes that found no value to return at once. It has what
// loads must know of the context: a context of the user may do anything when it is asked,
// such as wait for a lock, so none is asked while a lock is held.
type caller struct {
	ctx    context.Context
	ends   bool      // ctx can end
	now    int64     // by the clock of the cache, when it looked last
	inside []*flight // the loads of the cache in whose fetches the call is made, from the inside

	background bool // may begin a load that goes on without it: not a plain Take
	patient    bool // waits for a load even if a value in Grace could stand in
	inGrace    bool // there is such a value
	found      bool // has got a value that the cache had

	patience *time.Timer      // goes off when its patience ends; nil before it waits with some
	timeout  time.Duration    // of a load that it begins, and of all its waits together; 0 means none
	since    time.Time        // when it began to wait for its first load, with timeout
	late     <-chan time.Time // receives when it has waited for as long as timeout; nil while the load ends before
}

// plainCaller returns the caller of a plain Take.
func (l *loading) plainCaller() caller {
	return caller{ctx: context.Background(), patient: true, timeout: l.timeout}
}

// callerOf returns a caller with a context.
func (l *loading) callerOf(ctx context.Context) caller {
	return caller{ctx: ctx, ends: ctx.Done() != nil, inside: l.permits.flightsAround(ctx), timeout: l.timeout}
}

// flightOf is the context key of the innermost load of a cache in whose fetch a call is made.
type flightOf struct{ owner *permits }

// flightsAround returns the loads in whose fetches a call with the context ctx is made, from
// the inside.
func (p *permits) flightsAround(ctx context.Context) (around []*flight) {
	for {
		f, ok := ctx.Value(flightOf{p}).(*flight)
		if !ok {
			return around
		}
		around = append(around, f)
		ctx = f.first
	}
}

// checkTake panics if the context or the fetch of a Take is nil.
func checkTake(ctx context.Context, noFetch bool, method string) {
	if noFetch { // the text is made only then
		checkFunction(noFetch, "fetch of "+method)
	}
	checkContext(ctx, method)
}

// checkFunction panics if a function that the program must give is nil.
func checkFunction(isNil bool, what string) {
	if isNil {
		panic("cache: " + what + " is nil: want a function")
	}
}

// checkContext panics if the context of a method is nil.
func checkContext(ctx context.Context, method string) {
	if ctx == nil {
		nilContext(method)
	}
}

func nilContext(method string) {
	panic("cache: the context of " + method + " is nil: want context.Background(), if there is no other")
}

// reasonOf returns the error and the cause of a context that has ended. Neither is nil, though
// a context of the user may have closed Done and tell no error.
func reasonOf(ctx context.Context) (err, cause error) {
	if err = ctx.Err(); err == nil {
		err = context.Canceled
	}
	if cause = context.Cause(ctx); cause == nil {
		cause = err
	}
	return err, cause
}

// patienceEnds returns a channel that receives when the caller's patience ends; nil means
// never.
func (who *caller) patienceEnds(patience time.Duration) <-chan time.Time {
	if !who.background || !who.patient || !who.inGrace {
		return nil
	}
	if who.patience == nil {
		who.patience = time.NewTimer(patience)
	}
	return who.patience.C
}

// waits notes that the caller is about to wait for a load. It leaves each load at the Timeout
// of that, and also when it has waited for as long as timeout in all.
func (who *caller) waits(f *flight) {
	if who.timeout == 0 || who.late != nil {
		return
	}
	if who.since.IsZero() {
		who.since = time.Now()
	}
	if end := who.since.Add(who.timeout); f.limit.After(end) {
		who.late = time.NewTimer(time.Until(end)).C
	}
}

// past is the late of a caller that has waited for too long.
var past = func() <-chan time.Time {
	closed := make(chan time.Time)
	close(closed)
	return closed
}()

// canLeave reports whether a caller may leave a load before the load ends.
func (who *caller) canLeave() bool { return who.ends || who.timeout > 0 }

// wait waits until a load has ended. Otherwise the caller, if it is no successor, leaves the
// load, and wait returns why: the cause of its context, errOutOfPatience, or ErrTimeout.
// A nil giveUp never receives.
func (l *load[K, V]) wait(who *caller, r role, giveUp <-chan time.Time) error {
	err, cause := l.await(who, giveUp)
	if cause != nil && r != successor {
		l.flight.leave(err, cause)
	}
	return cause
}

// abandon counts a caller whose context has ended, and returns why.
func (l *load[K, V]) abandon(who *caller) (err, cause error) {
	l.common.loads.abandoned.Add(1)
	return reasonOf(who.ctx)
}

// await waits until a load has ended. If the caller stops waiting before, await returns why:
// an error of package context, and its cause.
func (l *load[K, V]) await(who *caller, giveUp <-chan time.Time) (err, cause error) {
	who.waits(l.flight)
	ended := who.ctx.Done()
	if giveUp == nil && l.flight.late == nil && who.late == nil { // most callers; two cases take half the time of five
		select {
		case <-l.done:
			return nil, nil
		case <-ended:
			return l.abandon(who)
		}
	}
	select {
	case <-l.done:
		return nil, nil
	case <-ended:
		return l.abandon(who)
	case <-giveUp:
		return context.Canceled, errOutOfPatience
	case <-l.flight.late:
	case <-who.late:
		who.late = past
	}
	select {
	case <-l.done: // just in time
		return nil, nil
	default:
		return context.DeadlineExceeded, l.tooLate()
	}
}

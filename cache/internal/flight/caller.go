package flight

import (
	"context"
	"time"
)

// A Caller is a call that may begin loads, join and leave them. It has what loads must know of its
// context: a context of the user may do anything when it is asked, such as wait for a lock, so none is
// asked while a lock is held. It is for one goroutine.
type Caller struct {
	Ctx    context.Context
	Inside []*Flight // the loads of the cache in whose fetches the call is made, from the inside
	rules  *Rules
	ends   bool             // Ctx can end
	since  time.Time        // when it began to wait for its first load, with a time-out
	timeUp <-chan time.Time // receives when it has waited for as long as the time-out; nil while the load ends before
}

// CanLeave reports whether the caller may leave a load before the load ends.
func (who *Caller) CanLeave() bool { return who.ends || who.rules.timeout > 0 }

// A Reason is why a caller waits no longer.
type Reason uint8

const (
	Landed    Reason = iota // the load has ended
	Ended                   // the context of the caller has ended
	Impatient               // giveUp has received
	TimedOut                // the load, or all loads of the caller together, took too long
)

// Await waits until landed, which is closed when the result of a load is there, or there is a reason to
// leave its flight. A nil giveUp never receives.
func (who *Caller) Await(f *Flight, landed <-chan struct{}, giveUp <-chan time.Time) Reason {
	who.limit(f)
	ended := who.Ctx.Done()
	if giveUp == nil && f.late == nil && who.timeUp == nil { // most callers; two cases take half the time of five
		select {
		case <-landed:
			return Landed
		case <-ended:
			return Ended
		}
	}
	select {
	case <-landed:
		return Landed
	case <-ended:
		return Ended
	case <-giveUp:
		return Impatient
	case <-f.late:
	case <-who.timeUp:
		who.timeUp = closed
	}
	select {
	case <-landed: // just in time
		return Landed
	default:
		return TimedOut
	}
}

// limit notes that the caller is about to wait for a load. It leaves each load at the time-out of
// that, and also when it has waited for as long as its own in all.
func (who *Caller) limit(f *Flight) {
	if who.rules.timeout == 0 || who.timeUp != nil {
		return
	}
	if who.since.IsZero() {
		who.since = time.Now()
	}
	if end := who.since.Add(who.rules.timeout); f.limit.After(end) {
		who.timeUp = time.NewTimer(time.Until(end)).C
	}
}

// closed is what timeUp becomes once the time is over.
var closed = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// ReasonOf returns the error and the cause of a context that has ended. Neither is nil, though
// a context of the user may have closed Done and tell no error.
func ReasonOf(ctx context.Context) (err, cause error) {
	if err = ctx.Err(); err == nil {
		err = context.Canceled
	}
	if cause = context.Cause(ctx); cause == nil {
		cause = err
	}
	return err, cause
}

// flightOf is the context key of the innermost load of a cache in whose fetch a call is made.
type flightOf struct{ owner *Rules }

// around returns the loads in whose fetches a call with the context ctx is made, from the inside.
func (r *Rules) around(ctx context.Context) (around []*Flight) {
	for {
		f, ok := ctx.Value(flightOf{r}).(*Flight)
		if !ok {
			return around
		}
		around = append(around, f)
		ctx = f.base
	}
}

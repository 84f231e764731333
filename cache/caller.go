// This file has the caller of a Take, as loads see it, and how it waits for a load.

package cache

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache/internal/clock"
	"github.com/pinwheel-cache/pinwheel/cache/internal/flight"
)

// A caller is a call of one of the Takes that found no value to return at once.
type caller struct {
	flight.Caller
	now   int64   // when it looked last, by the clock of the cache
	since int64   // it gets what was stored, or whose load began, after that; 0: at any time
	on    *asking // by TakeEntry; else nil

	anew       bool // it gets no value that the cache has, but that of a load
	background bool // may begin a load that goes on without it: not a plain Take
	patient    bool // waits for a load even if a value in Grace could stand in
	inGrace    bool // there is such a value
	found      bool // the cache had a value for it, so that it counts as a hit
	waits      bool // for its own load too, which another goroutine runs
	refused    bool // it waited last for a load that has failed, or took too long

	came, ended int64 // when it began to wait and when it had a result, by the clock of the cache; 0: it need not wait

	patience *time.Timer // goes off when its patience ends; nil before it waits for the first time
}

// callerOf returns a caller with a context.
func (l *loading) callerOf(ctx context.Context) caller { return caller{Caller: l.rules.CallerOf(ctx)} }

// patienceEnds returns a channel that receives when the caller's patience ends; nil means
// never.
func (who *caller) patienceEnds(patience time.Duration) <-chan time.Time {
	if !who.background || !who.patient || !who.inGrace {
		return nil
	}
	if who.patience == nil {
		who.patience = time.NewTimer(who.patienceOr(patience))
	}
	return who.patience.C
}

// wait waits until a load has ended. Otherwise wait returns why not: the cause of the caller's
// context, errOutOfPatience, or ErrTimeout; and the caller, if it has joined the load, leaves it.
// A nil giveUp never receives.
func (l *load[K, V]) wait(who *caller, joined bool, giveUp <-chan time.Time) error {
	var err, cause error
	who.refused = false
	switch who.Await(l.flight, l.done, giveUp) {
	case flight.Landed:
		who.refused = l.counted() != nil
		return nil
	case flight.Ended:
		l.common.loads.abandoned.Add(1)
		err, cause = flight.ReasonOf(who.Ctx)
	case flight.Impatient:
		err, cause = context.Canceled, errOutOfPatience
	case flight.TimedOut:
		who.refused = true
		if f := l.flight; f.IsLate() && f.Fetching() && !f.Over() { // and neither only the caller, nor for want of a permit
			l.common.blame(l, l.common.loads.rules.Timeout(), ErrTimeout)
		}
		err, cause = context.DeadlineExceeded, l.tooLate()
	}
	if joined {
		l.flight.Leave(err, cause)
	}
	return cause
}

// follow is wait for the load of another caller, of which followed is told if the fetch has yet to end.
func (l *load[K, V]) follow(who *caller, joined bool, giveUp <-chan time.Time) error {
	told := l.common.loads.followed
	if told == nil || l.flight.Over() {
		return l.wait(who, joined, giveUp)
	}
	began := time.Now()
	err := l.wait(who, joined, giveUp)
	failed := err
	if err == nil && joined {
		failed = l.counted()
	}
	told(who.Ctx, l.flight.Inner(), l.hash, began, failed)
	return err
}

// tell notes how fresh the value is that the caller gets.
func (who *caller) tell(f freshness) {
	if who.on == nil {
		return
	}
	if who.on.NoOld {
		f.deadline = clock.TimeOf(f.deadline) // it may have passed since
	}
	who.on.told = f
}

// accepts reports whether the caller may get a value that was stored then; 0 is not known.
func (who *caller) accepts(born clock.Moment) bool {
	switch {
	case who.anew:
		return false
	case who.since == 0:
		return true
	}
	return born > 0 && (who.since == knownAge || born.Until(clock.MomentOf(who.now)) < clock.MomentOf(who.since).Until(clock.MomentOf(who.now)))
}

// knownAge is the since of a caller that gets any value whose age is known. The clock of a cache begins later.
const knownAge = 1

// refusesOld reports whether the caller refuses a value in Grace.
func (who *caller) refusesOld() bool { return who.on != nil && who.on.NoOld }

// storesNothing reports whether a load that the caller begins is not to be stored.
func (who *caller) storesNothing() bool { return who.on != nil && who.on.NoStore }

// patienceOr returns how long the caller waits for a load before a value in Grace stands in, if that is
// what the options say.
func (who *caller) patienceOr(usual time.Duration) time.Duration {
	if who.on != nil && who.on.Patience != 0 {
		return who.on.Patience
	}
	return usual
}

package neartest

import (
	"sync"
	"time"
)

// lateness measures how late timers of this process are. near promises MaxLag unless a timer is late by more than a
// quarter of it, as on an overloaded machine. A verdict must excuse that and nothing else.
type lateness struct {
	mu    sync.Mutex
	limit time.Duration // later than that is very late
	due   time.Time     // of the probe that is pending
	stops bool
	late  []lateProbe // the very late ones, in order
}

// A lateProbe has the time when a late probe was due, and until when others that were due then
// may not have run yet: when the next probe was called in time. It is zero before that.
type lateProbe struct{ due, until time.Time }

const probeEvery = 5 * time.Millisecond

// start runs one probe after another, until stop, for caches whose MaxLag is at least maxLag.
func (l *lateness) start(maxLag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due, l.stops, l.limit = time.Now().Add(probeEvery), false, maxLag/8
	time.AfterFunc(probeEvery, l.probe)
}

func (l *lateness) probe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stops {
		l.called(time.Now())
		time.AfterFunc(probeEvery, l.probe)
	}
}

// called records that the pending probe was called, with mu held.
func (l *lateness) called(now time.Time) {
	last := len(l.late) - 1
	pending := last >= 0 && l.late[last].until.IsZero()
	switch late := now.Sub(l.due) > l.limit; {
	case late && !pending:
		l.late = append(l.late, lateProbe{due: l.due})
	case !late && pending:
		l.late[last].until = now
	}
	l.due = now.Add(probeEvery)
}

func (l *lateness) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops = true
}

// at returns how long a due timer had been waiting at a moment.
func (l *lateness) at(moment time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := l.due
	for _, p := range l.late {
		if p.due.Before(moment) && (p.until.IsZero() || !p.until.Before(moment)) {
			due = p.due
		}
	}
	return max(0, moment.Sub(due))
}

// excuses reports whether a read that began at a moment may be that stale, given how late timers were then, and that
// near's is due after three quarters of maxLag.
func (l *lateness) excuses(began time.Time, stale, maxLag time.Duration) bool {
	late := l.at(began)
	return late > maxLag/4-probeEvery && stale <= maxLag/4*3+late+2*probeEvery
}

package neartest

import (
	"sync"
	"time"
)

// lateness measures how late timers of this process are. near promises MaxLag unless a timer is
// late by more than a quarter of it, as on an overloaded machine. The verdict excuses that and
// nothing else.
type lateness struct {
	maxLag time.Duration

	mu     sync.Mutex
	due    time.Time // of the probe that is pending
	stops  bool
	probes []lateProbe // the very late ones, in order
}

// A lateProbe has the times when a probe was due and when it was called.
type lateProbe struct{ due, called time.Time }

const probeEvery = 5 * time.Millisecond

// start runs one probe after another, until stop.
func (l *lateness) start(maxLag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maxLag, l.due, l.stops = maxLag, time.Now().Add(probeEvery), false
	time.AfterFunc(probeEvery, l.probe)
}

func (l *lateness) probe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stops {
		return
	}
	now := time.Now()
	if now.Sub(l.due) > l.maxLag/8 {
		l.probes = append(l.probes, lateProbe{l.due, now})
	}
	l.due = now.Add(probeEvery)
	time.AfterFunc(probeEvery, l.probe)
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
	for _, p := range l.probes {
		if p.due.Before(moment) && !p.called.Before(moment) {
			due = p.due
		}
	}
	return max(0, moment.Sub(due))
}

// late reports whether a timer was very late at some moment between two.
func (l *lateness) late(from, to time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range append(l.probes, lateProbe{l.due.Add(l.maxLag / 8), to}) {
		if p.due.Before(to) && p.called.After(from) {
			return true
		}
	}
	return false
}

// excuses reports whether a read that began at a moment may be that stale, given how late
// timers were then, and that near's is due after three quarters of MaxLag.
func (l *lateness) excuses(began time.Time, stale time.Duration) bool {
	late := l.at(began)
	return late > l.maxLag/4-probeEvery && stale <= l.maxLag/4*3+late+2*probeEvery
}

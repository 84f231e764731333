package redis_test

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// lateness measures how late timers of this process are. near promises MaxLag unless a timer is
// late by more than a quarter of it (docs/near.md), as on an overloaded machine. The verdict
// must excuse that and nothing else.
type lateness struct {
	mu    sync.Mutex
	due   time.Time // of the probe that is pending
	stops bool
	late  []lateProbe // the very late ones, in order
}

// A lateProbe has the time when a late probe was due, and until when others that were due then
// may not have run yet: when the next probe was called in time. It is zero before that.
type lateProbe struct{ due, until time.Time }

const probeEvery = 5 * time.Millisecond

// start runs one probe after another, until stop.
func (l *lateness) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due, l.stops = time.Now().Add(probeEvery), false
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
	switch late := now.Sub(l.due) > maxLag/8; {
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

// excuses reports whether a read that began at a moment may be that stale, given how late
// timers were then, and that near's is due after three quarters of MaxLag.
func (l *lateness) excuses(began time.Time, stale time.Duration) bool {
	late := l.at(began)
	return late > maxLag/4-probeEvery && stale <= maxLag/4*3+late+2*probeEvery
}

// Catches: an excuse when no timer was late, at another moment, or for more than that.
func TestLatenessExcuses(t *testing.T) {
	ms := time.Millisecond
	zero := time.Now()
	l := lateness{due: zero.Add(time.Hour), late: []lateProbe{{due: zero, until: zero.Add(210 * ms)}}}
	for _, c := range []struct {
		began, stale time.Duration
		want         bool
	}{
		{205 * ms, 430 * ms, true},
		{205 * ms, 450 * ms, false}, // more stale than late
		{50 * ms, 301 * ms, false},  // not late by a quarter
		{211 * ms, 430 * ms, false}, // no longer late
		{-ms, 430 * ms, false},      // not yet late
	} {
		if got := l.excuses(zero.Add(c.began), c.stale); got != c.want {
			t.Errorf("a read at %v that is stale by %v: excused %t, want %t", c.began, c.stale, got, c.want)
		}
	}
	l.due = zero.Add(time.Second)
	if got := l.at(zero.Add(1200 * ms)); got != 200*ms {
		t.Errorf("while a probe is pending: late by %v, want 200ms", got)
	}

	// A late probe has run, and near's timer, due at the same time, perhaps not yet.
	l = lateness{due: zero}
	l.called(zero.Add(200 * ms))
	if got := l.at(zero.Add(201 * ms)); got != 201*ms {
		t.Errorf("a late probe was called a moment ago: late by %v, want 201ms", got)
	}
	l.called(zero.Add(206 * ms))
	if got := l.at(zero.Add(207 * ms)); got != 0 {
		t.Errorf("then one was called in time: late by %v, want 0", got)
	}
}

// inTime fails the test, with the stacks of all goroutines, if f does not end in a minute.
func inTime(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		stacks := make([]byte, 1<<20)
		t.Errorf("%s: not done after a minute\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
}

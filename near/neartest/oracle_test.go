package neartest

import (
	"testing"
	"time"
)

// Catches: an excuse when no timer was late, at another moment, or for more than that.
func TestLatenessExcuses(t *testing.T) {
	ms := time.Millisecond
	zero := time.Now()
	const maxLag = 300 * time.Millisecond
	l := lateness{limit: maxLag / 8, due: zero.Add(time.Hour), late: []lateProbe{{due: zero, until: zero.Add(210 * ms)}}}
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
		if got := l.excuses(zero.Add(c.began), c.stale, maxLag); got != c.want {
			t.Errorf("a read at %v that is stale by %v: excused %t, want %t", c.began, c.stale, got, c.want)
		}
	}
	l.due = zero.Add(time.Second)
	if got := l.at(zero.Add(1200 * ms)); got != 200*ms {
		t.Errorf("while a probe is pending: late by %v, want 200ms", got)
	}

	// A late probe has run, and near's timer, due at the same time, perhaps not yet.
	l = lateness{limit: maxLag / 8, due: zero}
	l.called(zero.Add(200 * ms))
	if got := l.at(zero.Add(201 * ms)); got != 201*ms {
		t.Errorf("a late probe was called a moment ago: late by %v, want 201ms", got)
	}
	l.called(zero.Add(206 * ms))
	if got := l.at(zero.Add(207 * ms)); got != 0 {
		t.Errorf("then one was called in time: late by %v, want 0", got)
	}
}

// Catches: a read that counts as current because it is current now, or as stale only from the second next version on.
func TestOracle(t *testing.T) {
	start := time.Now()
	for _, c := range []struct {
		version             int
		after, stale, since time.Duration
	}{
		{0, 0, 0, 0}, {0, 100, 100, 0}, {0, 2000, 2000, 500}, {1, 500, 0, 0}, {1, 1500, 500, 0},
		{1, 1600, 600, 100}, {2, 9000, 0, 0},
	} {
		h := &history{newest: 2, acked: []event{{1, start}, {2, start.Add(1000)}}, revoked: []event{{2, start.Add(1500)}}}
		o := Oracle{keys: map[int]*history{7: h}}
		v := o.Judge(7, c.version, start.Add(c.after))
		if v.Stale != c.stale || v.Revoked != c.since || (v.Err(500) != nil) != (c.stale > 500 || c.since > 0) {
			t.Errorf("version %d after %v: %+v, %v", c.version, c.after, v, v.Err(500))
		}
		if o.Judge(7, 3, start).Err(time.Hour) == nil {
			t.Error("a version that was never written is right")
		}
	}
}

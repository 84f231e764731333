package timingwheel

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// often is how often the tests of laziness move a timer.
const often = 10_000

// wantCounts fails unless a ring has visited and relinked so many tasks.
func wantCounts(t *testing.T, what string, r *Ring, visits, relinks uint64) {
	t.Helper()
	if v, l := r.Counts(); v != visits || l != relinks {
		t.Errorf("%s: %d visits and %d relinks, want %d and %d", what, v, l, visits, relinks)
	}
}

// TestLaterSetsAreLazy checks that a task which is set to later ticks again and again stays in its slot:
// all that costs one visit, which links it once more.
//
// Catches: an eager moveTask.
func TestLaterSetsAreLazy(t *testing.T) {
	r := ringAt(512, 1, 37)
	first := r.Now() + 100
	for i := range int64(often) {
		r.Set(0, first+i)
	}
	wantCounts(t, "later Sets", r, 0, 0)
	r.Advance(first, math.MaxInt, nil)
	wantCounts(t, "at the first time", r, 1, 1)
	r.Advance(first+often-2, math.MaxInt, nil)
	wantCounts(t, "just before the last time, by way of the overflow level", r, 2, 2)
	r = ringAt(512, 1, 37)
	r.Set(0, r.Now()+300)
	r.Set(0, r.Now()+500)
	r.Set(0, r.Now()+400)
	wantCounts(t, "to an earlier tick, which the slot is in time for", r, 0, 0)
	r.Set(0, r.Now()+200)
	wantCounts(t, "to a tick before the visit", r, 0, 1)
}

// TestHeartbeatsAreVisitedOncePerTimeout checks what the package documentation says of a timer that
// is refreshed again and again.
func TestHeartbeatsAreVisitedOncePerTimeout(t *testing.T) {
	const timeout, beat = 300, 7
	r := ringAt(512, 1, 0)
	for r.Now() < often*beat {
		r.Set(0, r.Now()+timeout)
		r.Advance(r.Now()+beat, math.MaxInt, nil)
	}
	if visits, relinks := r.Counts(); visits > often*beat/(timeout-beat) || relinks != visits || r.Len() != 1 {
		t.Errorf("%d visits and %d relinks in %d time-outs", visits, relinks, often*beat/timeout)
	}
}

// TestLaterMovesWakeNobody moves timers to later times, while the drivers have no timer of the runtime:
// whoever set the alarm would make one. The moves are counted, but for Resets, which take no lock; and each
// timer is visited once before it is due.
//
// Catches: a MoveTimer, SetTimer or Reset that sets the alarm, a Reset that takes a lock.
func TestLaterMovesWakeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyed := newKeyed(t, 10*time.Millisecond, 512, func(int, int) {})
		mustSetKeyed(t, keyed, 1, 1, time.Second)
		byHandle, err := NewTimers(10*time.Millisecond, 512)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(byHandle.Stop)
		timer := byHandle.AfterFunc(time.Second, func() {})

		alarms := []*time.Timer{keyed.driver.timer, byHandle.driver.timer}
		keyed.driver.timer, byHandle.driver.timer = nil, nil
		for i := range often {
			later := time.Second + time.Duration(i)*time.Millisecond
			if i%2 == 0 {
				mustSetKeyed(t, keyed, 1, i, later)
			} else {
				wantKeyed(t, "MoveTimer", true)(keyed.MoveTimer(1, later))
			}
			timer.Reset(later)
		}
		if keyed.driver.timer != nil || byHandle.driver.timer != nil {
			t.Error("the alarm was set")
		}
		keyed.driver.timer, byHandle.driver.timer = alarms[0], alarms[1]

		for _, of := range []struct {
			name  string
			stats func() stats.WheelSnapshot
			moved uint64
		}{{"by key", keyed.Stats, often}, {"by handle", byHandle.Stats, 0}} {
			if s := of.stats(); s.Moved != of.moved || s.Visits != 0 || s.Relinks != 0 {
				t.Errorf("%s: %d moved, %d visits, %d relinks", of.name, s.Moved, s.Visits, s.Relinks)
			}
		}
		time.Sleep(time.Second + often*time.Millisecond + 10*time.Millisecond)
		synctest.Wait()
		for name, s := range map[string]stats.WheelSnapshot{"by key": keyed.Stats(), "by handle": byHandle.Stats()} {
			if s.Relinks > 2 || s.Visits != s.Relinks+1 || s.Fired != 1 {
				t.Errorf("%s, at last: %+v", name, s)
			}
		}
	})
}

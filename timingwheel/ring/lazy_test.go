package ring

import (
	"math"
	"testing"
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

package timingwheel

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// often is how often the test of laziness moves a timer.
const often = 10_000

// TestLaterMovesWakeNobody moves timers to later times, while the drivers have no timer of the runtime:
// whoever set the alarm would make one. The moves are counted, but for Resets, which take no lock; and each
// timer is visited once before it is due.
//
// Catches: a MoveTimer, SetTimer or Reset that sets the alarm, a Reset that takes a lock.
func TestLaterMovesWakeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyed := newKeyed(t, 10*time.Millisecond, 512, func(int, int) {})
		mustSetKeyed(t, keyed, 1, 1, time.Second)
		byHandle := mustTimers(t, 10*time.Millisecond, 512)
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

package timingwheel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeyedAllThatAreDueBegin checks that as many callbacks begin in a tick as there are
// workers, although none ends: a worker wakes the next before it calls.
func TestKeyedAllThatAreDueBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timers = 1000 // many more than shards
		var begun atomic.Int64
		end := make(chan struct{})
		w := newKeyed(t, keyedTick, 16, func(int, int) { begun.Add(1); <-end }, WithWorkers(timers))
		for key := range timers {
			mustSetKeyed(t, w, key, 0, keyedTick)
		}
		time.Sleep(2*keyedTick - 1) // one tick, on which all of them are due
		synctest.Wait()
		if n := begun.Load(); n != timers {
			t.Errorf("%d callbacks have begun, want %d", n, timers)
		}
		close(end)
	})
}

// TestKeyedDrainSetsTheAlarm checks that nothing wakes the wheel for timers that were
// drained.
func TestKeyedDrainSetsTheAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newKeyed(t, keyedTick, 16, func(int, int) {})
		mustSetKeyed(t, w, 1, 0, time.Hour)
		if err := w.Drain(func(int, int) {}); err != nil {
			t.Fatal(err)
		}
		if alarm := w.alarm.Load(); alarm != never {
			t.Errorf("the alarm is set for tick %d", alarm)
		}
	})
}

// TestKeyedMoveForward checks that a timer that is moved to an earlier time wakes the
// wheel then.
func TestKeyedMoveForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called atomic.Bool
		w := newKeyed(t, keyedTick, 16, func(int, int) { called.Store(true) })
		mustSetKeyed(t, w, 1, 0, time.Hour)
		if found, err := w.MoveTimer(1, keyedTick); !found || err != nil {
			t.Fatalf("MoveTimer = %v, %v", found, err)
		}
		time.Sleep(2 * keyedTick)
		synctest.Wait()
		if !called.Load() {
			t.Error("the timer has not fired")
		}
	})
}

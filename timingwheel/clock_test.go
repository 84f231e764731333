package timingwheel

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// wallBehind returns t as a wall clock would have said it that was behind by whole
// seconds. The monotonic reading stays.
func wallBehind(t time.Time, by time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t)) // one bit, 33 bits of seconds, 30 bits of nanoseconds
	*wall -= uint64(by/time.Second) << 30
	return t
}

// TestPendingDueAfterTheWallClockWasSet checks that All yields due times by the present
// wall clock, after it was set, as by NTP at boot or when a machine is resumed.
func TestPendingDueAfterTheWallClockWasSet(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		w := newKeyed(t, 10*ms, 64, func(int, int) {})
		mustSetKeyed(t, w, 1, 1, 10*time.Minute)
		w.clock.start = wallBehind(w.clock.start, by) // set by so much since then
		for p := range w.All() {
			if left := time.Until(p.Due.Round(0)); left < 9*time.Minute || left > 11*time.Minute {
				t.Errorf("wall clock set by %v: due in %v, want in 10m", by, left)
			}
		}
		if got := time.Until(w.clock.moment(w.clock.now()).Round(0)); got < -time.Minute || got > time.Minute {
			t.Errorf("wall clock set by %v: the present is %v away", by, got)
		}
	}
}

// TestAcrossBubbles uses wheels inside a bubble that were made outside, and the other way
// round. It wants a clear panic before any timer is set: otherwise timers never fire, or
// the runtime ends the process.
func TestAcrossBubbles(t *testing.T) {
	uses := func(w *TimingWheel[int, int], timers *Timers, timer, sender *Timer) map[string]func() {
		return map[string]func(){
			"SetTimer":   func() { _ = w.SetTimer(2, 2, time.Hour) },
			"SetTimerAt": func() { _ = w.SetTimerAt(2, 2, time.Now().Add(time.Hour)) },
			"MoveTimer":  func() { _, _ = w.MoveTimer(1, time.Minute) },
			"All": func() {
				for range w.All() {
				}
			},
			"Stop of a channel's timer":  func() { sender.Stop() },
			"Reset of a channel's timer": func() { sender.Reset(time.Minute) },
			"Drain":                      func() { _ = w.Drain(func(int, int) {}) },
			"TimingWheel.Stop":           w.Stop,
			"AfterFunc":                  func() { timers.AfterFunc(time.Hour, func() {}) },
			"Every":                      func() { timers.Every(time.Hour, func() {}) },
			"NewTimer":                   func() { timers.NewTimer(time.Hour) },
			"Reset to later":             func() { timer.Reset(2 * time.Hour) },
			"Reset to earlier":           func() { timer.Reset(time.Second) },
			"Timers.Stop":                timers.Stop,
		}
	}
	newWheels := func() (*TimingWheel[int, int], *Timers, *Timer, *Timer) {
		w, err := New(10*ms, 64, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		timers, err := NewTimers(10*ms, 64)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.SetTimer(1, 1, time.Hour)
		return w, timers, timers.AfterFunc(time.Hour, func() {}), timers.NewTimer(time.Hour)
	}
	want := func(t *testing.T, text string, uses map[string]func()) {
		for name, use := range uses {
			func() {
				defer func() {
					if got := fmt.Sprint(recover()); !strings.Contains(got, text) {
						t.Errorf("%s: panic %q, want one that says %q", name, got, text)
					}
				}()
				use()
			}()
		}
	}
	t.Run("made outside", func(t *testing.T) {
		w, timers, timer, sender := newWheels()
		synctest.Test(t, func(t *testing.T) { want(t, "make it in the bubble", uses(w, timers, timer, sender)) })
		if n, m := w.Len(), timers.Len(); n != 1 || m != 2 {
			t.Errorf("Len: %d and %d, want 1 and 2", n, m)
		}
		w.Stop()
		timers.Stop()
	})
	t.Run("made in a bubble", func(t *testing.T) {
		var use map[string]func()
		var w *TimingWheel[int, int]
		var timers *Timers
		var timer *Timer
		synctest.Test(t, func(*testing.T) {
			var sender *Timer
			w, timers, timer, sender = newWheels()
			use = uses(w, timers, timer, sender)
		})
		want(t, "is used outside", use)
		// What needs no time works: the page of package stats asks from outside.
		if removed, err := w.RemoveTimer(1); !removed || err != nil || !timer.Stop() || w.Len() != 0 || w.Stats().Removed != 1 {
			t.Errorf("RemoveTimer: %v %v, and %d timers by key are left", removed, err, w.Len())
		}
	})
	t.Run("in a bubble for long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, timers, _, _ := newWheels()
			time.Sleep(200 * 365 * 24 * time.Hour)
			for _, set := range uses(w, timers, timers.AfterFunc(time.Hour, func() {}), timers.NewTimer(time.Hour)) {
				set()
			}
			w.Stop()
			timers.Stop()
		})
	})
}

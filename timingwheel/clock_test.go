package timingwheel

import (
	"context"
	"fmt"
	"slices"
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
		all := slices.Collect(w.All())
		if left := time.Until(all[0].Due.Round(0)); len(all) != 1 || left < 9*time.Minute || left > 11*time.Minute {
			t.Errorf("wall clock set by %v: %d are due, in %v, want one in 10m", by, len(all), left)
		}
		if got := time.Until(w.clock.moment(w.clock.now()).Round(0)); got < -time.Minute || got > time.Minute {
			t.Errorf("wall clock set by %v: the present is %v away", by, got)
		}
	}
}

// TestAcrossBubbles uses wheels inside a bubble that were made outside, and the other way
// round. It wants a clear panic before any timer is set: otherwise timers never fire, or
// the runtime ends the process. What neither sets a timer nor touches a channel works.
func TestAcrossBubbles(t *testing.T) {
	ctx := context.Background()
	type wheels struct {
		keyed            *TimingWheel[int, int]
		timers           *Timers
		timer, sender    *Timer
		ticker, schedule *Timer
	}
	uses := func(w wheels) map[string]func() {
		return map[string]func(){
			"SetTimer":             func() { _ = w.keyed.SetTimer(2, 2, time.Hour) },
			"SetTimerAt":           func() { _ = w.keyed.SetTimerAt(2, 2, time.Now().Add(time.Hour)) },
			"MoveTimer":            func() { _, _ = w.keyed.MoveTimer(1, time.Minute) },
			"All":                  func() { w.keyed.All()(func(Pending[int, int]) bool { return true }) },
			"AfterFunc":            func() { w.timers.AfterFunc(time.Hour, func() {}) },
			"At":                   func() { w.timers.At(time.Now().Add(time.Hour), func() {}) },
			"Every":                func() { w.timers.Every(time.Hour, func() {}) },
			"Repeat":               func() { w.timers.Repeat(1, time.Hour, func() {}) },
			"Repeat 0 times":       func() { w.timers.Repeat(0, time.Hour, func() {}) },
			"Schedule":             func() { w.timers.Schedule(periodic{time.Now(), time.Hour}, func() {}) },
			"NewTimer":             func() { w.timers.NewTimer(time.Hour) },
			"After":                func() { w.timers.After(time.Hour) },
			"NewTicker":            func() { w.timers.NewTicker(time.Hour) },
			"Ticks":                func() { w.timers.Ticks(ctx, ms)(func(time.Time) bool { return false }) },
			"Sleep":                func() { _ = w.timers.Sleep(ctx, ms) },
			"Sleep 0":              func() { _ = w.timers.Sleep(ctx, 0) },
			"Reset to later":       func() { w.timer.Reset(2 * time.Hour) },
			"Reset to earlier":     func() { w.timer.Reset(time.Second) },
			"Reset of a channel":   func() { w.sender.Reset(time.Second) },
			"Reset of a schedule":  func() { w.schedule.Reset(time.Second) },
			"Stop of a channel":    func() { w.sender.Stop() },
			"Stop of a ticker":     func() { w.ticker.Stop() },
			"Drain":                func() { _ = w.keyed.Drain(func(int, int) {}) },
			"TimingWheel.Stop":     w.keyed.Stop,
			"Timers.Stop":          w.timers.Stop,
			"TimingWheel.Shutdown": func() { _ = w.keyed.Shutdown(ctx) },
			"Timers.Shutdown":      func() { _ = w.timers.Shutdown(ctx) },
		}
	}
	newWheels := func() wheels {
		keyed, err := New(10*ms, 64, func(int, int) {})
		must(t, err)
		timers, err := NewTimers(10*ms, 64)
		must(t, err)
		_ = keyed.SetTimer(1, 1, time.Hour)
		return wheels{
			keyed: keyed, timers: timers,
			timer: timers.AfterFunc(time.Hour, func() {}), sender: timers.NewTimer(time.Hour),
			ticker: timers.NewTicker(time.Hour), schedule: timers.Schedule(periodic{time.Now(), time.Hour}, func() {}),
		}
	}
	check := func(t *testing.T, text string, w wheels) {
		for name, use := range uses(w) {
			func() {
				defer func() {
					if got := fmt.Sprint(recover()); !strings.Contains(got, text) {
						t.Errorf("%s: panic %q, want one that says %q", name, got, text)
					}
				}()
				use()
			}()
		}
		if n, m := w.keyed.Len(), w.timers.Len(); n != 1 || m != 4 {
			t.Errorf("Len: %d and %d, want 1 and 4", n, m)
		}
		wantKeyed(t, "RemoveTimer", true)(w.keyed.RemoveTimer(1))
		wantSame(t, "Stop", w.timer.Stop(), true)
		wantSame(t, "Stop of a schedule", w.schedule.Stop(), true)
		if n, m := w.keyed.Stats().Pending, w.timers.Stats().Pending; n != 0 || m != 2 {
			t.Errorf("pending: %d and %d, want 0 and 2", n, m)
		}
	}
	t.Run("made outside", func(t *testing.T) {
		w := newWheels()
		synctest.Test(t, func(t *testing.T) { check(t, "make it in the bubble", w) })
		w.keyed.Stop()
		w.timers.Stop()
	})
	t.Run("made in a bubble", func(t *testing.T) {
		var w wheels
		synctest.Test(t, func(*testing.T) { w = newWheels() })
		check(t, "is used outside", w)
	})
}

package timingwheel

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGoexitInAPoolThatRunsInline checks that the end of a callback is not taken for a refusal by
// a pool that calls at once: all timers run at their tick, and each Goexit counts once.
func TestGoexitInAPoolThatRunsInline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timers = 10
		var calls, reports atomic.Int64
		start := time.Now()
		w := newKeyed(t, 100*ms, 64, func(key, _ int) {
			calls.Add(1)
			if at := time.Since(start); at != 100*ms {
				t.Errorf("timer %d at %v, want 100ms", key, at)
			}
			runtime.Goexit()
		}, WithPool(func(run func()) error { run(); return nil }), WithOnPanic(func(any, []byte) { reports.Add(1) }))
		for key := range timers {
			mustSetKeyed(t, w, key, key, 100*ms)
		}
		time.Sleep(2 * time.Second)
		if got := w.Stats().Panics; calls.Load() != timers || reports.Load() != timers || got != timers {
			t.Errorf("%d calls, %d reports, %d panics counted: want %d of each", calls.Load(), reports.Load(), got, timers)
		}
	})
}

// TestSubmitThatFails checks that a submit that panics, or calls Goexit without a call, has refused:
// the timer is offered again at the next tick, and the failure counts once.
func TestSubmitThatFails(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic":  func() { panic(errors.New("full")) },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reports atomic.Int64
				var at []time.Duration
				start := time.Now()
				w := newKeyed(t, 100*ms, 64, func(int, int) { at = append(at, time.Since(start)) }, WithPool(func(run func()) error {
					if time.Since(start) < 150*ms {
						fail()
					}
					run()
					return nil
				}), WithOnPanic(func(any, []byte) { reports.Add(1) }))
				mustSetKeyed(t, w, 1, 1, 100*ms)
				time.Sleep(time.Second)
				if got := w.Stats().Panics; len(at) != 1 || at[0] != 200*ms || reports.Load() != 1 || got != 1 {
					t.Errorf("called at %v, %d reports, %d counted: want once at 200ms, and 1 of each", at, reports.Load(), got)
				}
			})
		})
	}
}

package timingwheel_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// TestCallbackSetsItsKeyAgain: a callback sets its key anew, at the same distance: no round
// comes a tick late.
func TestCallbackSetsItsKeyAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		at := make(chan time.Duration, 10)
		var w *timingwheel.TimingWheel[string, int]
		w, err := timingwheel.New(100*time.Millisecond, 64, func(key string, round int) {
			at <- time.Since(began)
			if round < 5 {
				if err := w.SetTimer(key, round+1, time.Second); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		if err := w.SetTimer("x", 1, time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		close(at)
		for round := 1; round <= 5; round++ {
			if got, want := <-at, time.Duration(round)*time.Second; got != want {
				t.Errorf("round %d was called at %v, want %v", round, got, want)
			}
		}
	})
}

// TestKeySetAgainByItsBatchIsRemoved: while a batch of callbacks is called, each sets its key
// again; all these can be removed.
func TestKeySetAgainByItsBatchIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 1000
		var calls atomic.Int64
		var w *timingwheel.TimingWheel[int, int]
		w, err := timingwheel.New(time.Second, 3600, func(key, _ int) {
			calls.Add(1)
			if err := w.SetTimer(key, 0, 5*time.Second); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for key := range keys {
			if err := w.SetTimer(key, 0, time.Second); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for key := range keys {
			if removed, err := w.RemoveTimer(key); !removed || err != nil {
				t.Errorf("key %d: %t, %v", key, removed, err)
			}
		}
		time.Sleep(time.Hour)
		if n := calls.Load(); n != keys {
			t.Errorf("%d calls, want one for each of %d keys", n, keys)
		}
	})
}

// TestCallbacksAddTimers: callbacks add timers for the next tick, to the slot that is being
// emptied, on a wheel of few.
func TestCallbacksAddTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chains, links = 1000, 20
		timers, err := timingwheel.NewTimers(time.Millisecond, 4)
		if err != nil {
			t.Fatal(err)
		}
		defer timers.Stop()
		var calls atomic.Int64
		var add func(left int)
		add = func(left int) {
			if left > 0 {
				timers.AfterFunc(time.Millisecond, func() { calls.Add(1); add(left - 1) })
			}
		}
		for range chains {
			add(links)
		}
		time.Sleep(links * time.Millisecond)
		synctest.Wait()
		if n := calls.Load(); n != chains*links {
			t.Errorf("%d calls after %d ms, want %d", n, links, chains*links)
		}
	})
}

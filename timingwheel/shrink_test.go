package timingwheel

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestShrinkAfterFiring: when most timers have fired, the driver gives their memory
// back while the rest still waits, a shard at each wake-up.
func TestShrinkAfterFiring(t *testing.T) {
	const n = 20_000
	delay := func(i int) time.Duration { // nine of ten at once, the others one by one
		if i%10 > 0 {
			return 10 * time.Millisecond
		}
		return time.Second + time.Duration(i)*time.Millisecond
	}
	synctest.Test(t, func(t *testing.T) {
		w, err := New(10*time.Millisecond, 64, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		timers, err := NewTimers(10*time.Millisecond, 64)
		if err != nil {
			t.Fatal(err)
		}
		timers.shift = 64 // all in one shard
		for i := range n {
			_ = w.SetTimer(i, i, delay(i))
			timers.AfterFunc(delay(i), func() {})
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		places := 0
		for i := range w.shards {
			places += len(w.shards[i].entries)
		}
		if most := 5*w.Len() + minPlaces*len(w.shards); places > most || w.Len() < n/20 {
			t.Errorf("by key: %d places for %d timers, want at most %d", places, w.Len(), most)
		}
		if places, most := len(timers.shards[0].entries), 5*timers.Len(); places > most {
			t.Errorf("by handle: %d places for %d timers, want at most %d", places, timers.Len(), most)
		}
		w.Stop()
		timers.Stop()
	})
}

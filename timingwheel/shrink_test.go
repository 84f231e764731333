package timingwheel

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestShrinkAfterFiring checks that when most timers have fired the driver frees their
// memory while the rest still waits, a shard at each wake-up.
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
		entries := 0
		for s := range made(w.shards) {
			entries += len(s.entries)
		}
		if most := 5*w.Len() + minSlab*len(w.shards); entries > most || w.Len() < n/20 {
			t.Errorf("by key: %d entries for %d timers, want at most %d", entries, w.Len(), most)
		}
		if entries, most := len(timers.shards[0].Load().entries), 5*timers.Len(); entries > most {
			t.Errorf("by handle: %d entries for %d timers, want at most %d", entries, timers.Len(), most)
		}
		w.Stop()
		timers.Stop()
	})
}

// TestShrinkAfterABurst sets a few timers of a day and many of two seconds: the memory of
// these is freed within ten seconds, although the others wake nobody.
func TestShrinkAfterABurst(t *testing.T) {
	const many, few = 100_000, 100
	for _, tick := range []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second, 3 * time.Second, time.Minute, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newKeyed(t, tick, 512, func(int, int) {})
			timers := mustTimers(t, tick, 512)
			timers.shift += 2 // a quarter of the shards have all
			for i := range many {
				delay := 2 * time.Second
				if i%(many/few) == 0 {
					delay = 10*tick + 24*time.Hour
				}
				_ = w.SetTimer(i, i, delay)
				timers.AfterFunc(delay, func() {})
			}
			time.Sleep(2*time.Second + tick + 10*time.Second)
			synctest.Wait()
			keyed, handles, shards := 0, 0, 0
			for s := range made(w.shards) {
				keyed += len(s.entries)
				shards++
			}
			for s := range made(timers.shards) {
				handles += len(s.entries)
			}
			if most := sparseFactor*few + minSlab*shards; w.Len() != few || timers.Len() != few || keyed > most || handles > most {
				t.Errorf("tick %v: %d entries by key for %d timers, %d by handle for %d, want at most %d", tick, keyed, w.Len(), handles, timers.Len(), most)
			}
			alarm := w.alarm.Load()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if w.alarm.Load() != alarm {
				t.Errorf("tick %v: awake after it has shrunk", tick)
			}
		})
	}
}

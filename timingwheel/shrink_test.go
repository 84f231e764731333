package timingwheel

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

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
			if err := errors.Join(checkKeyed(w), checkTimers(timers)); err != nil {
				t.Errorf("tick %v: %v", tick, err)
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

// TestShrinkAtOnce stops most timers: their memory is freed at once, and the others, which
// change their numbers, are still found. TestKeyedModel does it by key.
func TestShrinkAtOnce(t *testing.T) {
	const many, few = 5000, 100
	timers := mustTimers(t, time.Hour, 8)
	timers.shift = 64 // one shard
	var all []*Timer
	for i := range many {
		all = append(all, timers.AfterFunc(time.Duration(1+i%900)*time.Hour, func() {}))
	}
	for i, timer := range all {
		if i%(many/few) > 0 {
			wantSame(t, "Stop", timer.Stop(), true)
		} else {
			wantSame(t, "Reset", timer.Reset(time.Hour), true)
		}
	}
	if n := len(timers.shards[0].Load().entries); n > sparseFactor*few {
		t.Errorf("%d entries for %d timers", n, few)
	}
	must(t, checkTimers(timers))
}

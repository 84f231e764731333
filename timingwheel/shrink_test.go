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

// TestShrinkAtOnce removes most timers: their memory is freed at once, and the others, which
// change their numbers, are still found.
func TestShrinkAtOnce(t *testing.T) {
	const many, few = 5000, 100
	w, timers := newKeyed(t, time.Hour, 8, func(int, int) {}), mustTimers(t, time.Hour, 8)
	w.mask, timers.shift = 0, 64 // one shard
	var all []*Timer
	for i := range many {
		mustSetKeyed(t, w, i, i, time.Duration(1+i%900)*time.Hour)
		all = append(all, timers.AfterFunc(time.Duration(1+i%900)*time.Hour, func() {}))
	}
	for i, timer := range all {
		if i%(many/few) > 0 {
			wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(i))
			wantTimers(t, "Stop", timer.Stop(), true)
		} else {
			wantKeyed(t, "MoveTimer", true)(w.MoveTimer(i, time.Hour))
			wantTimers(t, "Reset", timer.Reset(time.Hour), true)
		}
	}
	if keyed, handles := len(w.shards[0].Load().entries), len(timers.shards[0].Load().entries); max(keyed, handles) > sparseFactor*few {
		t.Errorf("%d entries by key and %d by handle for %d timers", keyed, handles, few)
	}
	if err := errors.Join(checkKeyed(w), checkTimers(timers)); err != nil {
		t.Error(err)
	}
}

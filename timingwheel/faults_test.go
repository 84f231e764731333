package timingwheel

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// The tests of faults that have no place elsewhere: docs/guarantees.md has the list.

// TestKeyedCollidingKeys checks that a wheel whose hashes all collide finds each timer,
// and fires it once unless it was removed.
//
// Catches: timers told apart by their hash, a search that ends too early or never.
func TestKeyedCollidingKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 800
		fired := map[int]int{}
		w := newKeyed(t, keyedTick, 8, func(key, value int) { fired[key] = value }, WithWorkers(1))
		w.hasher = hash.FromFunc(func(int) uint64 { return 0x5DEECE66D })
		want := map[int]int{}
		rng := rand.New(rand.NewPCG(1, 2))
		for i := 1; i <= 4*keys; i++ {
			key := rng.IntN(keys)
			_, there := want[key]
			switch rng.IntN(3) {
			case 0:
				mustSetKeyed(t, w, key, i, time.Hour)
				want[key] = i
			case 1:
				wantKeyed(t, "MoveTimer", there)(w.MoveTimer(key, 2*time.Hour))
			case 2:
				wantKeyed(t, "RemoveTimer", there)(w.RemoveTimer(key))
				delete(want, key)
			}
		}
		must(t, checkKeyed(w))
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		for key := range keys {
			if fired[key] != want[key] {
				t.Errorf("key %d fired with %d, want %d", key, fired[key], want[key])
			}
		}
	})
}

// TestManyGoroutinesOnAWheel: a hundred thousand goroutines each set, move and perhaps
// remove a timer. Each timer fires, is removed or is drained, exactly once.
//
// Catches: timers lost or doubled, calls that wait for each other.
func TestManyGoroutinesOnAWheel(t *testing.T) {
	n := 100_000
	if settle.UnderRace() {
		n = 5000 // it ends the process at 8128 goroutines
	}
	ends := make([]atomic.Int32, n)
	var fired, removed atomic.Int64
	w := newKeyed(t, time.Millisecond, 64, func(key, _ int) {
		ends[key].Add(1)
		fired.Add(1)
	})
	const shared = -1 // a key that all of them set
	gate, done := make(chan struct{}), make(chan struct{}, n)
	for key := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			<-gate
			if err := w.SetTimer(key, 0, time.Hour); err != nil {
				t.Error(err)
			}
			if _, err := w.MoveTimer(key, 1+time.Duration(key%3)*time.Hour); err != nil {
				t.Error(err)
			}
			if err := w.SetTimer(shared, 0, time.Hour); err != nil {
				t.Error(err)
			}
			if key%2 == 0 {
				if found, _ := w.RemoveTimer(key); found {
					ends[key].Add(1)
					removed.Add(1)
				}
			}
		}()
	}
	close(gate)
	for range n {
		<-done
	}
	if found, err := w.RemoveTimer(shared); !found || err != nil {
		t.Errorf("RemoveTimer of what all have set: %t, %v", found, err)
	}
	must(t, w.Drain(func(key, _ int) { ends[key].Add(1) }))
	must(t, w.Shutdown(context.Background()))
	for key := range ends {
		if got := ends[key].Load(); got != 1 {
			t.Fatalf("timer %d came to an end %d times", key, got)
		}
	}
	drained := n - int(fired.Load()+removed.Load())
	if w.Len() != 0 || fired.Load() == 0 || removed.Load() == 0 || drained == 0 {
		t.Errorf("%d fired, %d removed, %d drained, %d left", fired.Load(), removed.Load(), drained, w.Len())
	}
}

// TestTimersClockJumps: time passes without an alarm, as when a process is stopped. Due
// timers fire at the first wake-up, once, and repeating ones are called once for all missed
// calls. A start, stop or reset
// between the jump and the wake-up counts from the present. TestKeyedCatchesUp does it by key.
//
// Catches: a burst of calls for what was missed, a delay counted from the tick that
// the wheel has reached, a timer that fires although it was stopped while overdue.
func TestTimersClockJumps(t *testing.T) {
	for _, by := range []time.Duration{time.Second, 5 * time.Minute, 30 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) { timersClockJump(t, by) })
	}
}

func timersClockJump(t *testing.T, by time.Duration) {
	timers := mustTimers(t, 10*ms, 64)
	overdue, every, later, moved, fresh := newTimes(), newTimes(), newTimes(), newTimes(), newTimes()
	timers.AfterFunc(100*ms, overdue.note)
	repeating := timers.Every(100*ms, every.note)
	timers.AfterFunc(by+200*ms, later.note)
	stop := timers.AfterFunc(100*ms, func() { t.Error("a timer fired that was stopped while overdue") })
	reset := timers.AfterFunc(100*ms, moved.note)
	ctx, cancel := timers.WithTimeout(context.Background(), 100*ms)
	defer cancel()

	timers.driver.mu.Lock() // happens before the next wake-up
	timers.clock.start = timers.clock.start.Add(-by)
	timers.driver.mu.Unlock()
	wantSame(t, "Stop", stop.Stop(), true)
	wantSame(t, "Reset", reset.Reset(300*ms), true)
	timers.AfterFunc(50*ms, fresh.note)
	time.Sleep(105 * ms) // the alarm that was set goes off after 100
	overdue.want(t, 100)
	fresh.want(t, 100)
	every.want(t, 100)
	wantSame(t, "the context", ctx.Err(), context.DeadlineExceeded)
	time.Sleep(250 * ms)
	later.want(t, 200)
	moved.want(t, 300)
	every.want(t, 100, 200, 300)
	repeating.Stop()
	must(t, checkTimers(timers))
}

package timingwheel

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// tmAll starts a timer of each kind and returns them.
func tmAll(t *Timers, d time.Duration, f func()) map[string]*Timer {
	return map[string]*Timer{
		"AfterFunc": t.AfterFunc(d, f),
		"At":        t.At(time.Now().Add(d), f),
		"Every":     t.Every(d, f),
		"Repeat":    t.Repeat(3, d, f),
		"Schedule":  t.Schedule(periodic{time.Now(), d}, f),
		"NewTimer":  t.NewTimer(d),
	}
}

// TestTimersStop checks that Stop of the wheel stops all kinds of timers, also those
// started later, and counts them as removed.
func TestTimersStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		waiting := tmAll(timers, 20*ms, l.note)
		timers.Stop()
		timers.Stop()
		if n := timers.Len(); n != 0 {
			t.Errorf("Len: %d", n)
		}
		after := tmAll(timers, 20*ms, l.note)
		for _, all := range []map[string]*Timer{waiting, after} {
			for kind, timer := range all {
				wantTimers(t, kind+": Stop", timer.Stop(), false)
				wantTimers(t, kind+": Reset", timer.Reset(1), false)
				wantTimers(t, kind+": Reset to later", timer.Reset(time.Hour), false)
			}
		}
		after["C"] = &Timer{C: timers.After(20 * ms)}
		time.Sleep(time.Minute)
		l.want(t)
		for kind, timer := range after {
			tmWantNothing(t, kind, timer.C)
		}
		tmWantNothing(t, "NewTimer", waiting["NewTimer"].C)
		if n := timers.Len(); n != 0 {
			t.Errorf("Len: %d", n)
		}
		if s := timers.Stats(); s.Started != 6 || s.Removed != 6 || s.Fired != 0 {
			t.Errorf("Stats: %+v", s)
		}
		if err := timers.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestTimersStopKeepsWhatWasSent checks that Stop of the wheel leaves a time that was sent
// before in its channel.
func TestTimersStopKeepsWhatWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		received, stopped, reset := timers.NewTimer(ms), timers.NewTimer(ms), timers.NewTimer(ms)
		time.Sleep(10 * ms)
		synctest.Wait()
		timers.Stop()
		<-received.C
		wantTimers(t, "Stop", stopped.Stop(), true)
		tmWantNothing(t, "Stop", stopped.C)
		wantTimers(t, "Reset", reset.Reset(ms), true)
		tmWantNothing(t, "Reset", reset.C)
		time.Sleep(time.Second)
		tmWantNothing(t, "Reset", reset.C)
	})
}

// TestTimersStopDuringCalls checks that running calls go on after Stop, that no other
// begins, and that Shutdown waits for them.
func TestTimersStopDuringCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8, WithWorkers(3))
		l := newTimes()
		var ended atomic.Int32
		var every, repeat *Timer
		long := func() {
			l.note()
			time.Sleep(100 * ms)
			ended.Add(1)
		}
		every = timers.Every(20*ms, long)
		repeat = timers.Repeat(5, 20*ms, long)
		timers.AfterFunc(20*ms, long)
		backlog := timers.AfterFunc(30*ms, l.note)
		time.Sleep(45 * ms)
		timers.Stop() // at 45
		wantTimers(t, "Stop of one that was due", backlog.Stop(), false)
		wantTimers(t, "Stop of Every during its call", every.Stop(), false)
		wantTimers(t, "Reset of Repeat during its call", repeat.Reset(ms), false)

		ctx, cancel := context.WithTimeoutCause(t.Context(), 15*ms, errors.New("too long"))
		defer cancel()
		if err := timers.Shutdown(ctx); err == nil || err.Error() != "too long" {
			t.Errorf("Shutdown: %v", err)
		}
		if got := time.Since(l.start); got != 60*ms {
			t.Errorf("Shutdown returned at %v", got)
		}
		if err := timers.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if got := time.Since(l.start); got != 120*ms || ended.Load() != 3 {
			t.Errorf("Shutdown returned at %v, with %d calls ended", got, ended.Load())
		}
		wantTimers(t, "Stop of Every", every.Stop(), false)
		wantTimers(t, "Reset of Repeat", repeat.Reset(1), false)
		time.Sleep(time.Minute)
		l.want(t, 20, 20, 20)
	})
}

// TestTimersStopByCallback checks that a callback may stop the wheel, and that Shutdown in
// it returns an error.
func TestTimersStopByCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		var err error
		timers.Every(20*ms, func() {
			l.note()
			timers.Stop()
			err = timers.Shutdown(context.Background())
		})
		timers.AfterFunc(30*ms, l.note)
		time.Sleep(time.Minute)
		l.want(t, 20)
		if err == nil {
			t.Error("Shutdown in a callback: no error")
		}
		if err := timers.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// tmAlarms counts the goroutines that the alarm starts, by whether it is set.
func tmAlarm(t *Timers) (set bool) { return t.alarm.Load() != never }

// TestNoWakeUpsWithoutTimers checks that no alarm, the only source of wake-ups, is set
// while no timer waits.
func TestNoWakeUpsWithoutTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		timers := mustTimers(t, 10*ms, 8)
		if tmAlarm(timers) {
			t.Error("the alarm is set in a new wheel")
		}
		l := newTimes()
		timers.AfterFunc(20*ms, l.note)
		timers.Repeat(2, 20*ms, l.note)
		far := timers.AfterFunc(time.Hour, l.note)
		if n := runtime.NumGoroutine(); n != before {
			t.Errorf("%d goroutines, %d before", n, before)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		// One that has just ended, or runs a cleanup of the runtime, may be counted
		// for a moment yet.
		for range 1000 {
			if runtime.NumGoroutine() == before {
				break
			}
			runtime.Gosched()
		}
		if n := runtime.NumGoroutine(); n != before {
			t.Errorf("%d goroutines, %d before", n, before)
		}
		wantTimers(t, "Stop", far.Stop(), true)
		time.Sleep(time.Minute) // the alarm may go off once more, within the slots
		synctest.Wait()
		if tmAlarm(timers) {
			t.Error("the alarm is set with no timer in the wheel")
		}
	})
}

// TestIdleShardCatchesUp checks that a ring, also with a tombstone in it, is at the present tick
// when a timer is started after a long time, and does not work through the missed ticks later.
func TestIdleShardCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 4)
		timers.shift = 64 // one shard
		for range 3 {
			timers.AfterFunc(10*ms, func() {})            // after it nothing is visited any more,
			timers.AfterFunc(time.Hour, func() {}).Stop() // so the tombstone of this one stays
			time.Sleep(100 * time.Hour)
			timer := timers.AfterFunc(time.Hour, func() {})
			timer.shard.mu.Lock()
			got, want := timer.shard.ring.Now(), timers.ticks(timers.now())
			timer.shard.mu.Unlock()
			if got != want {
				t.Errorf("the ring stands at tick %d, want %d", got, want)
			}
			timer.Stop()
		}
	})
}

// TestUnreferencedTimersFire drops a wheel while timers wait. They fire, and then the
// wheel is collected.
func TestUnreferencedTimersFire(t *testing.T) {
	done := make(chan struct{})
	var ref weak.Pointer[Timers]
	func() {
		timers, err := NewTimers(ms, 8)
		if err != nil {
			t.Fatal(err)
		}
		ref = weak.Make(timers)
		timers.Repeat(3, 15*ms, func() {})
		timers.AfterFunc(50*ms, func() { close(done) })
	}()
	for range 5 {
		runtime.GC()
	}
	collected := ref.Value() == nil
	select {
	case <-done: // on a busy machine also before the wheel was looked for
	default:
		if collected {
			t.Error("collected with timers in it")
		}
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("did not fire")
	}
	if !collectKeyed(func() bool { return ref.Value() == nil }) {
		t.Error("not collected after its timers have fired")
	}
}

// TestTimerKeepsNothingAlive checks that what a callback refers to is collected after its
// timer was stopped.
func TestTimerKeepsNothingAlive(t *testing.T) {
	timers := mustTimers(t, time.Hour, 8)
	var refs []weak.Pointer[[64]int]
	start := func(n int) {
		for i := range n {
			p := new([64]int)
			refs = append(refs, weak.Make(p))
			timer := timers.AfterFunc(time.Duration(i)*time.Hour, func() { p[0]++ })
			timer.Stop()
		}
	}
	start(100)
	keep := timers.AfterFunc(time.Hour, func() {})
	for i, ref := range refs {
		if !collectKeyed(func() bool { return ref.Value() == nil }) {
			t.Fatalf("%d is still there", i)
		}
	}
	keep.Stop()
}

// TestTimersSpread checks that one goroutine that starts all timers, as one that accepts
// connections, does not put them into one shard.
func TestTimersSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		for range 10 * len(timers.shards) {
			timers.AfterFunc(time.Hour, func() {})
			time.Sleep(ms)
		}
		used := 0
		for s := range made(timers.shards) {
			if s.len() > 0 {
				used++
			}
		}
		if used < len(timers.shards)/2 {
			t.Errorf("%d of %d shards are used", used, len(timers.shards))
		}
	})
}

package timingwheel

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
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
// started later, counts them as removed, and leaves a time that was sent before in its channel.
func TestTimersStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		received, stopped, reset := timers.NewTimer(ms), timers.NewTimer(ms), timers.NewTimer(ms)
		time.Sleep(10 * ms)
		synctest.Wait()
		l := newTimes()
		waiting := tmAll(timers, 20*ms, l.note)
		timers.Stop()
		timers.Stop()
		after, afterStop := tmAll(timers, 20*ms, l.note), timers.After(20*ms)
		for _, all := range []map[string]*Timer{waiting, after} {
			for kind, timer := range all {
				wantSame(t, kind+": Stop", timer.Stop(), false)
				wantSame(t, kind+": Reset", timer.Reset(1), false)
				wantSame(t, kind+": Reset to later", timer.Reset(time.Hour), false)
			}
		}
		<-received.C
		wantSame(t, "Stop of what was sent", stopped.Stop(), true)
		wantSame(t, "Reset of what was sent", reset.Reset(ms), true)
		time.Sleep(time.Minute)
		l.want(t)
		for what, c := range map[string]<-chan time.Time{
			"After": afterStop, "NewTimer after Stop": after["NewTimer"].C, "NewTimer": waiting["NewTimer"].C,
			"stopped": stopped.C, "reset": reset.C,
		} {
			tmWantNothing(t, what, c)
		}
		if s := timers.Stats(); timers.Len() != 0 || s.Started != 9 || s.Removed != 6 || s.Fired != 3 {
			t.Errorf("Len: %d, stats: %+v", timers.Len(), s)
		}
	})
}

// tmAlarm reports whether the driver is to wake for a timer.
func tmAlarm(t *Timers) (set bool) { return t.alarm.Load() != never }

// TestNoWakeUpsWithoutTimers checks that no alarm, the only source of wake-ups, is set
// while no timer waits.
func TestNoWakeUpsWithoutTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		asleep := func(set bool) {
			t.Helper()
			synctest.Wait()
			if n := keyedGoroutines(); n > 0 || tmAlarm(timers) != set {
				t.Errorf("%d goroutines, and the alarm is set: %v", n, tmAlarm(timers))
			}
		}
		asleep(false)
		timers.AfterFunc(20*ms, func() {})
		timers.Repeat(2, 20*ms, func() {})
		far := timers.AfterFunc(time.Hour, func() {})
		time.Sleep(time.Second)
		asleep(true)
		wantSame(t, "Stop", far.Stop(), true)
		time.Sleep(time.Minute) // the alarm may go off once more, within the slots
		asleep(false)
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
			wantSame(t, "the tick of the ring", timer.shard.ring.Now(), timers.ticks(timers.now()))
			timer.shard.mu.Unlock()
			timer.Stop()
		}
	})
}

// TestTimerKeepsNothingAlive checks that what a callback refers to is collected after its
// timer was stopped.
func TestTimerKeepsNothingAlive(t *testing.T) {
	timers := mustTimers(t, time.Hour, 8)
	var refs []weak.Pointer[[64]int]
	var all []*Timer
	for i := range 100 {
		p := new([64]int)
		refs = append(refs, weak.Make(p))
		all = append(all, timers.AfterFunc(time.Duration(i)*time.Hour, func() { p[0]++ }))
	}
	const half = 50 // of them go, so that no memory is freed for all of them
	for i := range half {
		all[i].Stop()
		all[i] = nil
	}
	kept := func(p weak.Pointer[[64]int]) bool { return p.Value() != nil }
	if !settle.Collected(func() bool { return !slices.ContainsFunc(refs[:half], kept) }) {
		t.Error("what a stopped timer refers to is still there")
	}
	runtime.KeepAlive(all)
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

// TestTimersLimit does random things to timers of all kinds on a wheel with a limit. It counts those that
// wait or repeat, and no others; what it refuses does not fire, and can be tried again.
func TestTimersLimit(t *testing.T) {
	const limit = 5
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			w := mustTimers(t, 10*ms, 64, WithLimit(limit))
			work := func() { time.Sleep(10 * ms * time.Duration(rand.IntN(3))) }
			var all []*Timer
			for range 200 {
				d := 10 * ms * time.Duration(random.IntN(20)+1)
				before := w.Stats()
				switch kind := random.IntN(8); {
				case kind < 4:
					all = append(all, []func() *Timer{
						func() *Timer { return w.AfterFunc(d, work) },
						func() *Timer { return w.NewTimer(d) },
						func() *Timer { return w.Every(d, work) },
						func() *Timer { return w.Repeat(2, d, work) },
					}[kind]())
					if s := w.Stats(); all[len(all)-1].Refused() != (s.Refused > before.Refused) || s.Refused > before.Refused && w.quota.used.Load() != limit {
						t.Errorf("refused: %v, %d timers, %d refused", all[len(all)-1].Refused(), w.quota.used.Load(), s.Refused-before.Refused)
					}
				case kind == 4:
					time.Sleep(d)
				case len(all) > 0 && kind == 5:
					all[random.IntN(len(all))].Stop()
				case len(all) > 0:
					timer := all[random.IntN(len(all))]
					if refused := timer.Refused(); timer.Reset(d) && refused {
						t.Error("Reset says that a refused timer was waiting")
					}
				}
				synctest.Wait()
				counted(t, w, all, limit)
			}
			for w.quota.used.Load() < limit {
				all = append(all, w.AfterFunc(time.Hour, work))
			}
			for range w.Ticks(t.Context(), time.Second) {
				t.Error("a tick of a full wheel")
			}
			wantSame(t, "Sleep of a full wheel", w.Sleep(t.Context(), time.Second), ErrFull)
			yielded := 0
			for timer, due := range w.All() {
				if yielded++; !slices.Contains(all, timer) || !due.After(time.Now()) {
					t.Errorf("All has a timer that is due at %v", due)
				}
				timer.Stop()
			}
			for _, timer := range all {
				timer.Stop()
			}
			time.Sleep(time.Second)
			counted(t, w, all, 0)
			one := mustTimers(t, 10*ms, 64, WithLimit(1))
			for range 10 {
				<-one.After(ms) // the one before has left the limit
			}
		})
	}
}

// counted checks that the limit counts the timers that wait or are called again, and at most so many.
func counted(t *testing.T, w *Timers, all []*Timer, most int64) {
	t.Helper()
	n := int64(0)
	for _, timer := range all {
		timer.shard.mu.Lock()
		if timer.lives() {
			n++
		}
		timer.shard.mu.Unlock()
	}
	if used := w.quota.used.Load(); used != n || n > most {
		t.Errorf("the limit counts %d timers, there are %d, want %d at most", used, n, most)
	}
}

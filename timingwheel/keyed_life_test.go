package timingwheel

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestKeyedSleeps checks that no goroutine runs and no alarm is set while no timer waits.
func TestKeyedSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called keyedCalls[int, int]
		w := newKeyed(t, keyedTick, 4, called.add)
		if w.driver.timer != nil || w.alarm.Load() != never || keyedGoroutines() > 0 {
			t.Errorf("a new wheel has %d goroutines, its alarm is %d", keyedGoroutines(), w.alarm.Load())
		}
		for _, delay := range []time.Duration{1, keyedTick, 100 * keyedTick} {
			for key := range 5 {
				mustSetKeyed(t, w, key, 0, delay)
			}
			time.Sleep(delay + keyedTick)
			synctest.Wait()
			if called.len() != 5 || keyedGoroutines() > 0 {
				t.Errorf("%d called, %d goroutines left", called.len(), keyedGoroutines())
			}
			called.take()
			wantKeyedSleep(t, w)
		}
		// what was armed for a timer that has gone goes off at most once
		mustSetKeyed(t, w, 1, 0, 7*keyedTick)
		mustSetKeyed(t, w, 2, 0, 9*keyedTick)
		mustSetKeyed(t, w, 3, 0, 500*keyedTick)
		wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(1))
		wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(3))
		if err := w.Drain(func(int, int) {}); err != nil {
			t.Error(err)
		}
		if alarm := w.alarm.Load(); alarm != never {
			t.Errorf("drained, and the alarm is set for tick %d", alarm)
		}
		time.Sleep(8 * keyedTick)
		synctest.Wait()
		wantKeyedSleep(t, w)
		if called.len() != 0 {
			t.Errorf("called %v", called.take())
		}
	})
}

// keyedGoroutines returns the number of goroutines that any wheel has.
func keyedGoroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("/internal/runner.(*Pool)")) + bytes.Count(stacks, []byte("timingwheel.(*wheel)"))
}

// TestKeyedWakesSeldom checks that timers far apart wake the wheel a few times each, not
// once a tick.
func TestKeyedWakesSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called keyedCalls[int, int]
		w := newKeyed(t, time.Millisecond, 64, called.add)
		wakes := 0
		mustSetKeyed(t, w, 1, 0, time.Millisecond)
		time.Sleep(time.Millisecond) // now there is a timer to be wrapped
		synctest.Wait()
		mustSetKeyed(t, w, 2, 0, 10*time.Second)
		mustSetKeyed(t, w, 3, 0, 20*time.Second)
		mustSetKeyed(t, w, 4, 0, 5*time.Second)
		for range 100 {
			wantKeyed(t, "MoveTimer", true)(w.MoveTimer(4, 6*time.Second))
			last := w.alarm.Load()
			for range 100 {
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				if now := w.alarm.Load(); now != last {
					wakes++
					last = now
				}
			}
		}
		if called.len() != 2 && called.len() != 3 {
			t.Errorf("called %v", called.take())
		}
		// 20 s are 20000 ticks; a revolution of the overflow level is 4096
		if wakes > 40 {
			t.Errorf("%d wake-ups in 10000 looks", wakes)
		}
		t.Log(wakes, "wake-ups")
	})
}

// TestKeyedStop checks that after Stop no callback begins, and every method returns
// ErrClosed.
func TestKeyedStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newKeyedGate()
		w := newKeyed(t, keyedTick, 4, g.call, WithWorkers(2), WithLimit(10))
		for _, key := range []string{"runs", "runs too", "waits", "waits too"} {
			mustSetKeyed(t, w, key, 0, keyedTick)
		}
		time.Sleep(2 * keyedTick)
		mustSetKeyed(t, w, "pending", 0, keyedTick)
		mustSetKeyed(t, w, "far", 0, time.Hour)
		synctest.Wait()
		for range 3 {
			w.Stop()
			if s := w.Stats(); w.Len() != 0 || s.Pending+s.Backlog+s.Tombstones != 0 || s.Running != 2 || s.Fired != 2 || s.Removed != 4 {
				t.Errorf("stopped: Len %d, stats %+v", w.Len(), s)
			}
		}
		for p := range w.All() {
			t.Errorf("stopped, All yields %v", p)
		}
		wantKeyedErr(t, "SetTimer", w.SetTimer("far", 0, keyedTick), ErrClosed)
		wantKeyedErr(t, "SetTimer of another", w.SetTimer("other", 0, keyedTick), ErrClosed)
		wantKeyedErr(t, "SetTimerAt", w.SetTimerAt("far", 0, time.Now()), ErrClosed)
		found, err := w.MoveTimer("far", keyedTick)
		wantKeyedErr(t, "MoveTimer", err, ErrClosed)
		removed, err := w.RemoveTimer("far")
		wantKeyedErr(t, "RemoveTimer", err, ErrClosed)
		if found || removed {
			t.Errorf("stopped, and found: %v, %v", found, removed)
		}
		wantKeyedErr(t, "Drain", w.Drain(func(string, int) { t.Error("stopped, and Drain calls") }), ErrClosed)
		close(g.open)
		time.Sleep(2 * time.Hour)
		if g.len() != 2 {
			t.Errorf("called %v, want the two that were running", g.take())
		}
		if err := w.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown after Stop: %v", err)
		}
		for range made(w.shards) {
			t.Error("a shard is left")
		}
		if w.driver.timer.Stop() {
			t.Error("stopped, and the timer of the driver is armed")
		}
	})
}

// TestKeyedShutdown checks that Shutdown waits for running callbacks until its context
// ends.
func TestKeyedShutdown(t *testing.T) {
	for name, opt := range map[string]Option{
		"workers": WithWorkers(3),
		"pool":    WithPool(func(run func()) error { go run(); return nil }),
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newKeyedGate()
			w := newKeyed(t, keyedTick, 4, g.call, opt)
			mustSetKeyed(t, w, "a", 0, keyedTick)
			mustSetKeyed(t, w, "b", 0, keyedTick)
			mustSetKeyed(t, w, "c", 0, 10*keyedTick)
			time.Sleep(keyedTick)
			synctest.Wait()
			cause := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
			defer cancel()
			start := time.Now()
			wantKeyedErr(t, name, w.Shutdown(ctx), cause)
			if waited := time.Since(start); waited != time.Minute {
				t.Errorf("%s: waited %v", name, waited)
			}
			time.AfterFunc(time.Second, func() { close(g.open) })
			start = time.Now()
			if err := w.Shutdown(t.Context()); err != nil || time.Since(start) != time.Second {
				t.Errorf("%s: Shutdown waited %v and returned %v", name, time.Since(start), err)
			}
			if g.len() != 2 || w.Stats().Running != 0 {
				t.Errorf("%s: called %v, %d are running", name, g.take(), w.Stats().Running)
			}
		})
	}
}

// TestKeyedShutdownInCallback checks that Shutdown by a callback, also of another wheel,
// does not wait for itself.
func TestKeyedShutdownInCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := newKeyed(t, keyedTick, 4, func(int, int) { time.Sleep(time.Hour) })
		mustSetKeyed(t, other, 1, 0, keyedTick)
		var ws [2]*TimingWheel[int, int]
		for i, opt := range []Option{WithWorkers(1), WithPool(func(run func()) error { go run(); return nil })} {
			var called atomic.Bool
			ws[i] = newKeyed(t, keyedTick, 4, func(key, _ int) {
				called.Store(true)
				if err := ws[i].Shutdown(t.Context()); err == nil {
					t.Error("Shutdown of the wheel by its callback returned nil")
				}
				if err := other.Shutdown(t.Context()); err == nil {
					t.Error("Shutdown of another wheel by a callback returned nil")
				}
			}, opt)
			mustSetKeyed(t, ws[i], 1, 0, 2*keyedTick)
			time.Sleep(3 * keyedTick)
			synctest.Wait()
			wantKeyedErr(t, "SetTimer", ws[i].SetTimer(1, 0, keyedTick), ErrClosed)
			wantKeyedErr(t, "SetTimer of the other", other.SetTimer(1, 0, keyedTick), ErrClosed)
			if !called.Load() {
				t.Error("not called")
			}
		}
		time.Sleep(2 * time.Hour) // the bubble must end after all callbacks
	})
}

// TestKeyedShutdownWaitsForDrain checks that Shutdown returns when all calls of a Drain
// have ended.
func TestKeyedShutdownWaitsForDrain(t *testing.T) {
	for _, workers := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			w := newKeyed(t, keyedTick, 4, func(int, int) {}, WithWorkers(workers))
			w.mask = 0 // one shard, so that all are drained at once
			const n = 20
			for key := range n {
				mustSetKeyed(t, w, key, 0, time.Hour)
			}
			var began, ended atomic.Int64
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				_ = w.Drain(func(int, int) {
					began.Add(1)
					time.Sleep(time.Second)
					ended.Add(1)
				})
			}()
			time.Sleep(time.Second / 2)
			if err := w.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			at := began.Load()
			if at != ended.Load() {
				t.Errorf("Shutdown returned, and %d of %d calls of Drain have ended", ended.Load(), at)
			}
			<-drained
			if n := began.Load(); n != at {
				t.Errorf("Shutdown returned after %d calls of Drain, and then %d more began", at, n-at)
			}
		})
	}
}

// TestKeyedDrain checks that Drain gives each waiting timer to its function, as many at
// once as there are workers, and returns after the last.
func TestKeyedDrain(t *testing.T) {
	for _, workers := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			var m keyedMeter
			var called, given keyedCalls[int, int]
			var failed atomic.Int64
			w := newKeyed(t, keyedTick, 4, called.add, WithWorkers(workers), WithOnPanic(func(any, []byte) { failed.Add(1) }))
			const n = 100
			for key := range n {
				mustSetKeyed(t, w, key, key, time.Duration(key+1)*keyedTick)
			}
			time.Sleep(50*keyedTick + keyedTick/2)
			start := time.Now()
			err := w.Drain(func(key, value int) {
				m.enter()
				defer m.leave()
				given.add(key, value)
				time.Sleep(keyedTick / 100)
				if key%10 == 0 {
					panicOrExitKeyed(key%20 == 0)
				}
			})
			if err != nil || time.Since(start) < 50/time.Duration(workers)*keyedTick/100 || m.now.Load() != 0 {
				t.Errorf("Drain returned %v after %v, while %d calls run", err, time.Since(start), m.now.Load())
			}
			time.Sleep(time.Hour)
			seen := map[int]int{}
			for _, c := range append(called.take(), given.take()...) {
				seen[c.key]++
				if c.key != c.value || seen[c.key] > 1 {
					t.Errorf("called %v, the call number %d", c, seen[c.key])
				}
			}
			if len(seen) != n || m.all.Load() != n/2 || m.most.Load() != int64(workers) || failed.Load() != n/20 {
				t.Errorf("%d called, %d drained, %d at once, %d failed", len(seen), m.all.Load(), m.most.Load(), failed.Load())
			}
			if s := w.Stats(); s.Removed != n/2 || s.Fired != n/2 || s.Panics != n/20 || w.Len() != 0 {
				t.Errorf("stats %+v, %d left", s, w.Len())
			}
			if err := checkKeyed(w); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeyedDrainFunctionUsesWheel checks that the function of Drain may use the wheel, and
// that timers that it sets stay, whatever their keys.
func TestKeyedDrainFunctionUsesWheel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called keyedCalls[int, int]
		w := newKeyed(t, keyedTick, 4, called.add, WithWorkers(1))
		const n = 100
		for key := range n {
			mustSetKeyed(t, w, key, 0, keyedTick)
		}
		if err := w.Drain(func(key, value int) {
			if value != 0 {
				t.Errorf("Drain was given key %d, which its function has set", key)
			}
			wantKeyed(t, "MoveTimer of the drained", false)(w.MoveTimer(key, keyedTick))
			wantKeyed(t, "RemoveTimer of the drained", false)(w.RemoveTimer(key))
			if err := errors.Join(w.SetTimer(key, 1, 2*keyedTick), w.SetTimer(key+n, 1, 2*keyedTick)); err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * keyedTick)
		synctest.Wait()
		if got := called.len(); got != 2*n {
			t.Errorf("%d of the timers that were set fired, want %d", got, 2*n)
		}
	})
}

// TestKeyedStopDuringDrain checks that Stop during Drain loses nothing that Drain has
// taken, and that each timer goes to the function or to nobody, never twice.
func TestKeyedStopDuringDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called, given keyedCalls[int, int]
		w := newKeyed(t, keyedTick, 4, called.add, WithWorkers(2))
		const n = 100
		for key := range n {
			mustSetKeyed(t, w, key, 0, keyedTick*time.Duration(1+key%50))
		}
		err := w.Drain(func(key, value int) {
			given.add(key, value)
			time.Sleep(keyedTick)
			if given.len() == 10 {
				w.Stop()
			}
		})
		if err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("Drain: %v", err)
		}
		time.Sleep(time.Hour)
		seen := map[int]bool{}
		for _, c := range append(called.take(), given.take()...) {
			if seen[c.key] {
				t.Errorf("key %d twice", c.key)
			}
			seen[c.key] = true
		}
		if len(seen) < 10 || err == nil && len(seen) < n || w.Len() != 0 {
			t.Errorf("%d called, %d left", len(seen), w.Len())
		}
	})
}

// collectKeyed collects garbage until gone reports true, for a minute at most.
func collectKeyed(gone func() bool) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		runtime.GC()
		if gone() {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// TestKeyedIsCollected checks that a wheel that nobody holds fires its timers, and is then
// collected.
func TestKeyedIsCollected(t *testing.T) {
	done := make(chan struct{})
	p := func() weak.Pointer[TimingWheel[int, *[1 << 16]byte]] {
		w, err := New(time.Millisecond, 16, func(int, *[1 << 16]byte) { close(done) }, WithName(t.Name()))
		if err != nil {
			t.Fatal(err)
		}
		mustSetKeyed(t, w, 1, new([1 << 16]byte), time.Second/2)
		return weak.Make(w)
	}()
	runtime.GC()
	runtime.GC()
	collected := p.Value() == nil
	select {
	case <-done: // on a busy machine also before the wheel was looked for
	default:
		if collected {
			t.Error("collected while a timer waits")
		}
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a timer of a wheel that nobody holds does not fire")
	}
	if !collectKeyed(func() bool { return p.Value() == nil }) {
		t.Error("not collected after its last timer")
	}
}

// TestKeyedIsCollectedWithoutTimers checks that a wheel whose timers were all removed, or
// that was stopped, is collected.
func TestKeyedIsCollectedWithoutTimers(t *testing.T) {
	for name, end := range map[string]func(*TimingWheel[int, int]){
		"unused": func(*TimingWheel[int, int]) {},
		"stopped": func(w *TimingWheel[int, int]) {
			_ = w.SetTimer(1, 1, time.Hour)
			w.Stop()
		},
		"removed": func(w *TimingWheel[int, int]) {
			_ = w.SetTimer(1, 1, time.Hour) // for which the alarm stays set
			_, _ = w.RemoveTimer(1)
		},
		"drained": func(w *TimingWheel[int, int]) {
			_ = w.SetTimer(1, 1, time.Hour)
			_ = w.Drain(func(int, int) {})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := func() weak.Pointer[TimingWheel[int, int]] {
				w, err := New(time.Millisecond, 16, func(int, int) {})
				if err != nil {
					t.Fatal(err)
				}
				end(w)
				return weak.Make(w)
			}()
			if !collectKeyed(func() bool { return p.Value() == nil }) {
				t.Error("not collected, though no timer waits")
			}
		})
	}
}

// TestKeyedKeepsNoRemovedTimer checks that a wheel keeps nothing alive for a timer that is
// gone.
func TestKeyedKeepsNoRemovedTimer(t *testing.T) {
	type big [1 << 16]byte
	w := newKeyed(t, time.Hour, 16, func(*big, *big) {})
	set := func(n int) (keys, values []weak.Pointer[big]) {
		for range n {
			k, v := new(big), new(big)
			mustSetKeyed(t, w, k, v, 48*time.Hour)
			keys, values = append(keys, weak.Make(k)), append(values, weak.Make(v))
		}
		return keys, values
	}
	keys, values := set(200)
	runtime.GC()
	for i := range keys {
		if keys[i].Value() == nil || values[i].Value() == nil {
			t.Fatal("a timer that waits was collected")
		}
		if i >= 20 { // and the shards shrink
			wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(keys[i].Value()))
		}
	}
	mustSetKeyed(t, w, keys[0].Value(), new(big), 48*time.Hour) // a value replaced
	for i := 1; i < 20; i++ {
		wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(keys[i].Value()))
	}
	kept := 0
	if !collectKeyed(func() bool {
		kept = 0
		for i := range keys {
			if keys[i].Value() != nil && i > 0 {
				kept++
			}
			if values[i].Value() != nil {
				kept++
			}
		}
		return kept == 0
	}) {
		t.Errorf("%d keys and values of timers that have gone are kept", kept)
	}
	runtime.KeepAlive(w)
}

// TestKeyedCatchesUp checks that after a stall all missed timers fire at the first
// wake-up, and that timers set or moved meanwhile count from the present, not from the
// tick that the wheel has reached.
func TestKeyedCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called keyedCalls[int, int]
		w := newKeyed(t, keyedTick, 4, called.add)
		const n = 100
		for key := range n {
			mustSetKeyed(t, w, key, 0, time.Duration(10+key)*keyedTick)
		}
		start := time.Now()
		first := time.Duration(w.of(w.alarm.Load()) - w.now()) // the alarm that was set
		// The clock jumps by 100 ticks, and no alarm has gone off.
		w.driver.mu.Lock() // happens before the next wake-up
		w.clock.start = w.clock.start.Add(-100 * keyedTick)
		w.driver.mu.Unlock()
		mustSetKeyed(t, w, n, 0, 50*keyedTick)
		mustSetKeyed(t, w, n+1, 0, 12*keyedTick+1)
		wantKeyed(t, "MoveTimer", true)(w.MoveTimer(0, 30*keyedTick))
		wantKeyed(t, "MoveTimer", true)(w.MoveTimer(n-1, 15*keyedTick))
		wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(1)) // overdue, and nobody saw it
		for p := range w.All() {
			want := start.Add(time.Duration(10+p.Key-100) * keyedTick)
			switch p.Key {
			case n:
				want = start.Add(50 * keyedTick)
			case n + 1:
				want = start.Add(13 * keyedTick)
			case 0:
				want = start.Add(30 * keyedTick)
			case n - 1:
				want = start.Add(15 * keyedTick)
			}
			if !p.Due.Equal(want) {
				t.Errorf("key %d is due in %v, want %v", p.Key, p.Due.Sub(start), want.Sub(start))
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		seen := map[int]time.Duration{}
		for _, c := range called.take() {
			if _, twice := seen[c.key]; twice {
				t.Errorf("key %d called twice", c.key)
			}
			seen[c.key] = c.at.Sub(start)
		}
		for key := range n + 2 {
			want := max(first, time.Duration(10+key-100)*keyedTick)
			switch key {
			case 0:
				want = 30 * keyedTick
			case n - 1:
				want = 15 * keyedTick
			case n:
				want = 50 * keyedTick
			case n + 1:
				want = 13 * keyedTick
			case 1:
				want = 0
			}
			if seen[key] != want {
				t.Errorf("key %d called after %v, want %v", key, seen[key], want)
			}
		}
	})
}

// TestKeyedPersistence checks that the timers that All yields survive a restart: overdue
// ones fire at the next tick, the others in time.
func TestKeyedPersistence(t *testing.T) {
	codecs := map[string]func(from, to any) error{
		"json": func(from, to any) error {
			b, err := json.Marshal(from)
			return errors.Join(err, json.Unmarshal(b, to))
		},
		"gob": func(from, to any) error {
			var b bytes.Buffer
			return errors.Join(gob.NewEncoder(&b).Encode(from), gob.NewDecoder(&b).Decode(to))
		},
	}
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				time.Sleep(keyedTick / 3)
				before := newKeyed(t, keyedTick, 64, func(string, int) { t.Error("called before the restart") })
				for i, key := range []string{"overdue", "soon", "later", "far"} {
					mustSetKeyed(t, before, key, i, []time.Duration{time.Second, time.Minute, time.Hour, 20 * time.Hour}[i])
				}
				var timers []Pending[string, int]
				if err := codec(slices.Collect(before.All()), &timers); err != nil {
					t.Fatal(err)
				}
				before.Stop()

				time.Sleep(10*time.Second + keyedTick/7)
				var called keyedCalls[string, int]
				after := newKeyed(t, keyedTick, 64, called.add)
				time.Sleep(keyedTick / 2)
				now := time.Now()
				for _, p := range timers {
					if err := after.SetTimerAt(p.Key, p.Value, p.Due); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(50 * time.Hour)
				synctest.Wait()
				if called.len() != 4 {
					t.Errorf("called %v, want 4", called.all)
				}
				for _, c := range called.take() {
					want := start.Add([]time.Duration{0, time.Minute, time.Hour, 20 * time.Hour}[c.value])
					if c.key == "overdue" {
						want = now
					}
					if late := c.at.Sub(want); late < 0 || late > 3*keyedTick {
						t.Errorf("%s called at %v, want %v", c.key, c.at, want)
					}
				}
			})
		})
	}
}

// TestKeyedAllWhileChanging checks that All yields every timer that stays exactly once,
// while others come and go, and the shards grow and would shrink. They shrink at its end.
func TestKeyedAllWhileChanging(t *testing.T) {
	const stay, others = 1000, 20_000
	w := newKeyed(t, time.Hour, 4, func(int, int) {})
	for key := range others {
		mustSetKeyed(t, w, stay+key, 0, time.Hour)
	}
	for key := range stay {
		mustSetKeyed(t, w, key, key, time.Hour)
	}
	seen := map[int]int{}
	next := stay
	for p := range w.All() {
		if 0 <= p.Key && p.Key < stay {
			seen[p.Key]++
			if p.Value != p.Key {
				t.Fatalf("All yields %v", p)
			}
		}
		for range 40 { // the others go, and new ones come
			if _, err := w.RemoveTimer(next); err != nil {
				t.Fatal(err)
			}
			next++
		}
		if p.Key%2 == 0 && 0 <= p.Key && p.Key < stay {
			wantKeyed(t, "MoveTimer", true)(w.MoveTimer(p.Key, 100*time.Hour))
			mustSetKeyed(t, w, -p.Key-1, 0, time.Hour)
		}
	}
	for key := range stay {
		if seen[key] != 1 {
			t.Errorf("key %d was seen %d times", key, seen[key])
		}
	}
	for range w.All() {
		break
	}
	for s := range made(w.shards) {
		if n := s.walks; n != 0 {
			t.Errorf("%d iterations under way", n)
		}
	}
	for p := range w.All() {
		wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(p.Key))
	}
	if err := checkKeyed(w); err != nil {
		t.Error(err)
	}
}

// A keyedHook is a shard without timers that calls the test when the driver reads the
// shards to set its alarm.
type keyedHook struct {
	anyShard
	look func()
}

func (h *keyedHook) nextVisit() int64 {
	h.look()
	return never
}
func (h *keyedHook) backlog() int64             { return 0 }
func (h *keyedHook) ready() bool                { return false }
func (h *keyedHook) shrink(int64) bool          { return false }
func (h *keyedHook) close()                     {}
func (h *keyedHook) addTo(*stats.WheelSnapshot) {}

// TestKeyedSetWhileAlarmIsSet checks that a timer set at any moment while the driver sets
// its alarm fires in time: the driver sees the timer, or SetTimer sees the alarm.
func TestKeyedSetWhileAlarmIsSet(t *testing.T) {
	for looks := 1; looks <= 4; looks++ {
		synctest.Test(t, func(t *testing.T) {
			var called keyedCalls[int, int]
			w := newKeyed(t, keyedTick, 4, called.add)
			n := 0
			h2, _ := w.hashOf(2)
			w.shardOf(h2) // made now, for which it takes the lock of the driver
			shards := append(w.madeShards(), &keyedHook{look: func() {
				if w.driver.mu.TryLock() { // it is not the alarm
					w.driver.mu.Unlock()
					return
				}
				if n++; n != looks {
					return
				}
				// SetTimer, but for the lock of the driver, which this goroutine has.
				s := w.shardOf(h2)
				s.mu.Lock()
				tick, err := s.put(h2, 2, 0, w.in(3*keyedTick))
				s.unlock()
				if err != nil {
					t.Error(err)
				}
				if tick < w.alarm.Load() {
					go w.wakeBy(tick)
				}
			}})
			w.shardList.Store(&shards)
			start := time.Now()
			mustSetKeyed(t, w, 1, 0, keyedTick)
			time.Sleep(20 * keyedTick)
			synctest.Wait()
			if n < looks {
				t.Logf("the driver looked %d times", n)
				return
			}
			late := start.Add(4 * keyedTick)
			c := called.take()
			if len(c) != 2 || c[1].at.After(late) {
				t.Errorf("set at look %d: called %v, want two calls, the last not after %v", looks, c, late)
			}
			wantKeyedSleep(t, w)
		})
	}
}

// TestKeyedAll checks that All yields each timer once, however their number divides into
// batches.
func TestKeyedAll(t *testing.T) {
	for _, n := range []int{0, 1, batch - 1, batch, batch + 1, 2*batch + 1, 1000} {
		w := newKeyed(t, time.Hour, 4, func(int, int) {})
		w.mask = 0
		for key := range n {
			mustSetKeyed(t, w, key, 2*key, time.Hour)
		}
		seen := map[int]bool{}
		for p := range w.All() {
			if seen[p.Key] || p.Value != 2*p.Key {
				t.Errorf("%d timers: All yields %v, seen before is %v", n, p, seen[p.Key])
			}
			seen[p.Key] = true
		}
		if len(seen) != n {
			t.Errorf("All yields %d timers, want %d", len(seen), n)
		}
	}
}

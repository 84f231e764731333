package timingwheel

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestKeyedSleeps checks that no goroutine runs and no alarm is set while no timer waits.
func TestKeyedSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called keyedCalls[int, int]
		w := newKeyed(t, keyedTick, 4, called.add)
		wantKeyedSleep(t, w)
		for _, delay := range []time.Duration{1, keyedTick, 100 * keyedTick} {
			for key := range 5 {
				mustSetKeyed(t, w, key, 0, delay)
			}
			time.Sleep(delay + keyedTick)
			synctest.Wait()
			if n := len(called.take()); n != 5 || keyedGoroutines() > 0 {
				t.Errorf("%d called, %d goroutines left", n, keyedGoroutines())
			}
			wantKeyedSleep(t, w)
		}
		// what was armed for a timer that has gone goes off at most once
		for key, delay := range []time.Duration{7, 9, 500} {
			mustSetKeyed(t, w, key, 0, delay*keyedTick)
		}
		wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(0))
		wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(2))
		must(t, w.Drain(func(int, int) {}))
		wantKeyedSleep(t, w)
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
		mustSetKeyed(t, w, 1, 0, time.Millisecond)
		time.Sleep(time.Millisecond) // now there is a timer to be wrapped
		for key, delay := range []time.Duration{10, 20, 5} {
			mustSetKeyed(t, w, 2+key, 0, delay*time.Second)
		}
		wakes, last := 0, w.alarm.Load()
		for look := range 10_000 {
			if look%100 == 0 {
				wantKeyed(t, "MoveTimer", true)(w.MoveTimer(4, 6*time.Second))
				last = w.alarm.Load()
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if now := w.alarm.Load(); now != last {
				wakes++
				last = now
			}
		}
		// 20 s are 20000 ticks; a revolution of the overflow level is 4096
		if n := called.len(); n != 2 && n != 3 || wakes > 40 {
			t.Errorf("called %v; %d wake-ups in 10000 looks", called.take(), wakes)
		}
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
			if s := w.Stats(); w.Len() != 0 || s.Pending+s.Overdue+s.Tombstones != 0 || s.Running != 2 || s.Fired != 2 || s.Removed != 4 {
				t.Errorf("stopped: Len %d, stats %+v", w.Len(), s)
			}
		}
		found, moved := w.MoveTimer("far", keyedTick)
		gone, removed := w.RemoveTimer("far")
		for what, err := range map[string]error{
			"SetTimer":            w.SetTimer("far", 0, keyedTick),
			"SetTimer of another": w.SetTimer("other", 0, keyedTick),
			"SetTimerAt":          w.SetTimerAt("far", 0, time.Now()),
			"MoveTimer":           moved,
			"RemoveTimer":         removed,
			"Drain":               w.Drain(func(string, int) { t.Error("stopped, and Drain calls") }),
		} {
			wantKeyedErr(t, what, err, ErrClosed)
		}
		if found || gone || len(slices.Collect(w.All())) > 0 || w.madeShards() != nil || w.driver.timer.Stop() {
			t.Errorf("stopped, and found: %v, %v, or All yields, a shard is left, or the timer of the driver armed", found, gone)
		}
		close(g.open)
		time.Sleep(2 * time.Hour)
		if err := w.Shutdown(t.Context()); err != nil || g.len() != 2 {
			t.Errorf("called %v, want the two that were running; Shutdown after Stop: %v", g.take(), err)
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
			for key, ticks := range map[string]time.Duration{"a": 1, "b": 1, "c": 10} {
				mustSetKeyed(t, w, key, 0, ticks*keyedTick)
			}
			time.Sleep(keyedTick)
			synctest.Wait()
			cause := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
			defer cancel()
			time.AfterFunc(time.Minute+time.Second, func() { close(g.open) })
			start := time.Now()
			if err := w.Shutdown(ctx); err != cause || time.Since(start) != time.Minute {
				t.Errorf("%s: Shutdown waited %v and returned %v", name, time.Since(start), err)
			}
			if err := w.Shutdown(t.Context()); err != nil || time.Since(start) != time.Minute+time.Second {
				t.Errorf("%s: Shutdown waited until %v and returned %v", name, time.Since(start), err)
			}
			if g.len() != 2 || w.Stats().Running != 0 {
				t.Errorf("%s: called %v, %d are running", name, g.take(), w.Stats().Running)
			}
		})
	}
}

// TestShutdownInCallback checks that Shutdown by a callback, also of another wheel, does not
// wait for itself, and stops the wheel.
func TestShutdownInCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := newKeyed(t, keyedTick, 4, func(int, int) { time.Sleep(time.Hour) })
		timers := mustTimers(t, keyedTick, 4)
		mustSetKeyed(t, other, 1, 0, keyedTick)
		var calls atomic.Int64
		refused := func(shutdowns ...func(context.Context) error) {
			calls.Add(1)
			for i, shutdown := range shutdowns {
				if err := shutdown(context.Background()); err == nil {
					t.Errorf("Shutdown %d in a callback returned nil", i)
				}
			}
		}
		var ws [2]*TimingWheel[int, int]
		for i, opt := range []Option{WithWorkers(1), WithPool(func(run func()) error { go run(); return nil })} {
			ws[i] = newKeyed(t, keyedTick, 4, func(int, int) { refused(ws[i].Shutdown, other.Shutdown) }, opt)
			mustSetKeyed(t, ws[i], 1, 0, 2*keyedTick)
			time.Sleep(3 * keyedTick)
			wantKeyedErr(t, "SetTimer", ws[i].SetTimer(1, 0, keyedTick), ErrClosed)
		}
		timers.Every(keyedTick, func() { refused(timers.Shutdown, other.Shutdown) })
		time.Sleep(2 * time.Hour) // the bubble must end after all callbacks
		wantKeyedErr(t, "SetTimer of the other", other.SetTimer(1, 0, keyedTick), ErrClosed)
		wantSame(t, "calls, one by each wheel", calls.Load(), 3)
	})
}

// TestKeyedDrain checks that Drain gives each waiting timer to its function, as many at
// once as there are workers, and returns after the last.
func TestKeyedDrain(t *testing.T) {
	for _, workers := range []int64{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			var m keyedMeter
			w := newKeyed(t, keyedTick, 4, m.add, WithWorkers(int(workers)))
			const n = 100
			for key := range n {
				mustSetKeyed(t, w, key, key, time.Duration(key+1)*keyedTick)
			}
			time.Sleep(50*keyedTick + keyedTick/2)
			start := time.Now()
			err := w.Drain(m.lasting(keyedTick / 100))
			if err != nil || time.Since(start) < 50/time.Duration(workers)*keyedTick/100 || m.now.Load() != 0 {
				t.Errorf("Drain returned %v after %v, while %d calls run", err, time.Since(start), m.now.Load())
			}
			time.Sleep(time.Hour)
			seen := map[int]bool{}
			for _, c := range m.take() {
				if seen[c.key] || c.key != c.value {
					t.Errorf("called %v, before: %v", c, seen[c.key])
				}
				seen[c.key] = true
			}
			s := w.Stats()
			if len(seen) != n || m.all.Load() != n/2 || m.most.Load() != workers || s.Removed != n/2 || s.Fired != n/2 {
				t.Errorf("%d called, %d drained, %d at once, stats %+v", len(seen), m.all.Load(), m.most.Load(), s)
			}
			if err := checkKeyed(w); err != nil || w.Len() != 0 {
				t.Errorf("%d left, %v", w.Len(), err)
			}
		})
	}
}

// TestKeyedStopDuringDrain checks that a Stop during Drain loses nothing that Drain has taken,
// that each timer goes to the function once, and that Shutdown returns after the last call.
func TestKeyedStopDuringDrain(t *testing.T) {
	for _, workers := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var m keyedMeter
			w := newKeyed(t, keyedTick, 4, m.add, WithWorkers(workers))
			const n = 20
			for key := range n {
				mustSetKeyed(t, w, key, 0, time.Hour)
			}
			time.AfterFunc(time.Second/2, func() { // during the first calls
				if err := w.Shutdown(context.Background()); err != nil || m.all.Load() != n || m.now.Load() != 0 {
					t.Errorf("Shutdown returned %v after %d calls of Drain, while %d run", err, m.all.Load(), m.now.Load())
				}
			})
			err := w.Drain(m.lasting(time.Second))
			time.Sleep(2 * time.Hour)
			calls, seen := m.take(), map[int]bool{}
			for _, c := range calls {
				seen[c.key] = true
			}
			if err != nil || len(calls) != n || len(seen) != n || w.Len() != 0 {
				t.Errorf("Drain: %v; %d calls of %d keys, %d left", err, len(calls), len(seen), w.Len())
			}
		})
	}
}

// TestUnreferencedTimersFire checks that a wheel that nobody holds fires its timers, and is
// then collected.
func TestUnreferencedTimersFire(t *testing.T) {
	for kind, start := range map[string]func(f func()) (kept func() bool){
		"by key": func(f func()) func() bool {
			w, _ := New(ms, 16, func(int, *[1 << 16]byte) { f() }, WithName(t.Name()))
			mustSetKeyed(t, w, 1, new([1 << 16]byte), time.Second/2)
			p := weak.Make(w)
			return func() bool { return p.Value() != nil }
		},
		"by handle": func(f func()) func() bool {
			timers, _ := NewTimers(ms, 8)
			timers.Repeat(3, 15*ms, func() {})
			timers.AfterFunc(time.Second/2, f)
			p := weak.Make(timers)
			return func() bool { return p.Value() != nil }
		},
	} {
		done := make(chan struct{})
		kept := start(func() { close(done) })
		for range 5 {
			runtime.GC()
		}
		collected := !kept()
		select {
		case <-done: // on a busy machine also before the wheel was looked for
		default:
			if collected {
				t.Errorf("%s: collected while a timer waits", kind)
			}
		}
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s: a timer of a wheel that nobody holds does not fire", kind)
		}
		if !settle.Collected(func() bool { return !kept() }) {
			t.Errorf("%s: not collected after its last timer", kind)
		}
	}
}

// TestKeyedIsCollectedWithoutTimers checks that a wheel whose timers were all removed, or
// that was stopped, is collected.
func TestKeyedIsCollectedWithoutTimers(t *testing.T) {
	for name, end := range map[string]func(*TimingWheel[int, int]){
		"stopped": (*TimingWheel[int, int]).Stop,
		"removed": func(w *TimingWheel[int, int]) { _, _ = w.RemoveTimer(1) }, // the alarm stays set
		"drained": func(w *TimingWheel[int, int]) { _ = w.Drain(func(int, int) {}) },
		"unused":  nil,
	} {
		p := func() weak.Pointer[TimingWheel[int, int]] {
			w, err := New(ms, 16, func(int, int) {})
			must(t, err)
			if end != nil {
				mustSetKeyed(t, w, 1, 1, time.Hour)
				end(w)
			}
			return weak.Make(w)
		}()
		if !settle.Collected(func() bool { return p.Value() == nil }) {
			t.Errorf("%s: not collected, though no timer waits", name)
		}
	}
}

// TestKeyedKeepsNoRemovedTimer checks that a wheel keeps nothing alive for a timer that is
// gone, or a value that was replaced.
func TestKeyedKeepsNoRemovedTimer(t *testing.T) {
	type big [1 << 16]byte
	w := newKeyed(t, time.Hour, 16, func(*big, *big) {})
	var keys, values []weak.Pointer[big]
	for range 200 {
		k, v := new(big), new(big)
		mustSetKeyed(t, w, k, v, 48*time.Hour)
		keys, values = append(keys, weak.Make(k)), append(values, weak.Make(v))
	}
	runtime.GC()
	for i := range keys {
		if keys[i].Value() == nil || values[i].Value() == nil {
			t.Fatal("a timer that waits was collected")
		}
		if i > 0 { // and the shards shrink
			wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(keys[i].Value()))
		}
	}
	mustSetKeyed(t, w, keys[0].Value(), new(big), 48*time.Hour)
	kept := func(p weak.Pointer[big]) bool { return p.Value() != nil }
	if !settle.Collected(func() bool { return !slices.ContainsFunc(keys[1:], kept) && !slices.ContainsFunc(values, kept) }) {
		t.Error("keys or values of timers that have gone are kept")
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
		due := map[int]time.Duration{} // from now, after the clock has jumped
		for key := range n {
			mustSetKeyed(t, w, key, 0, time.Duration(10+key)*keyedTick)
			due[key] = time.Duration(10+key-100) * keyedTick
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
		due[n], due[n+1], due[0], due[n-1] = 50*keyedTick, 13*keyedTick, 30*keyedTick, 15*keyedTick
		delete(due, 1)
		for p := range w.All() {
			if !p.Due.Equal(start.Add(due[p.Key])) {
				t.Errorf("key %d is due in %v, want %v", p.Key, p.Due.Sub(start), due[p.Key])
			}
		}
		time.Sleep(time.Hour)
		for _, c := range called.take() {
			if want, waits := due[c.key]; !waits || c.at.Sub(start) != max(first, want) {
				t.Errorf("key %d called after %v, want %v, %v", c.key, c.at.Sub(start), max(first, want), waits)
			}
			delete(due, c.key)
		}
		if len(due) > 0 {
			t.Errorf("not called: %v", due)
		}
	})
}

// TestKeyedAllWhileChanging checks that All yields every timer that stays exactly once,
// while others come and go, and the shard grows and would shrink. It shrinks at its end.
func TestKeyedAllWhileChanging(t *testing.T) {
	const stay, others = 1000, 20_000
	w := newKeyed(t, time.Hour, 4, func(int, int) {})
	w.mask = 0
	for i := range stay + others {
		key := (stay + i) % (stay + others) // those that stay are the last
		mustSetKeyed(t, w, key, key, time.Hour)
	}
	seen := map[int]int{}
	next := stay
	for p := range w.All() {
		if p.Value != p.Key {
			t.Fatalf("All yields %v", p)
		}
		seen[p.Key]++
		for range 40 { // the others go, and new ones come
			if _, err := w.RemoveTimer(next); err != nil {
				t.Fatal(err)
			}
			next++
		}
		if p.Key%2 == 0 && 0 <= p.Key && p.Key < stay {
			wantKeyed(t, "MoveTimer", true)(w.MoveTimer(p.Key, 100*time.Hour))
			mustSetKeyed(t, w, -p.Key-1, -p.Key-1, time.Hour)
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
		wantSame(t, "iterations under way", s.walks, 0)
	}
	for p := range w.All() {
		wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(p.Key))
	}
	must(t, checkKeyed(w))
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
				if looks == 1 {
					t.Error("the driver did not look")
				}
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

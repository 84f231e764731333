package gozero

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/settle"
)

// The tests of this file do the same with go-zero's wheel and with ours, in fake time, and
// assert both results. If that of go-zero's fails, go-zero has fixed the fault, and
// docs/go-zero.md is out of date.

// TestWheelDiffersByTicks has wheels of ten slots, driven by a ticker.
func TestWheelDiffersByTicks(t *testing.T) {
	type op func(r *rig) error
	set := func(value int, delay time.Duration) op {
		return func(r *rig) error { return r.SetTimer("x", value, delay) }
	}
	move := func(delay time.Duration) op { return func(r *rig) error { return r.MoveTimer("x", delay) } }
	drain := func(r *rig) error { return r.Drain(func(any, any) {}) }
	for _, c := range []struct {
		name         string
		at           int // the tick
		do           []op
		ours, theirs []string
	}{
		{"moved nearer: a revolution late", 4, []op{set(1, 8*step), move(2 * step)}, []string{"x=1@6"}, []string{"x=1@16"}},
		{"moved from the slot of the cursor: a revolution late", 4, []op{set(1, 10*step), move(step)}, []string{"x=1@5"}, []string{"x=1@15"}},
		{"moved away: a revolution early", 4, []op{set(1, 2*step), move(18 * step)}, []string{"x=1@22"}, []string{"x=1@12"}},
		{"set again, later: a revolution early", 4, []op{set(1, 2*step), set(2, 18*step)}, []string{"x=2@22"}, []string{"x=2@12"}},
		{"moved below an interval: fires twice", 0, []op{set(1, 5*step), move(step / 2)}, []string{"x=1@0"}, []string{"x=1@0", "x=1@5"}},
		{
			"moved below an interval three times: fires four times", 0,
			[]op{set(1, 5*step), move(step / 2), move(step / 2), move(step / 2)},
			[]string{"x=1@0"}, []string{"x=1@0", "x=1@0", "x=1@0", "x=1@5"},
		},
		{"a delay that is not a whole number of intervals: early", 0, []op{set(1, 2*step+1)}, []string{"x=1@3"}, []string{"x=1@2"}},
		{"set again after Drain: never", 0, []op{set(1, 5*step), drain, set(2, 7*step)}, []string{"x=2@7"}, nil},
		{"moved after Drain: fires", 0, []op{set(1, 5*step), drain, move(step / 2)}, nil, []string{"x=1@0"}},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			for _, side := range []struct {
				whose string
				rig   *rig
				want  []string
			}{{"ours", newOurs(t, 10), c.ours}, {"go-zero", newTheirs(t, 10), c.theirs}} {
				side.rig.tick(c.at)
				for _, op := range c.do {
					must(t, op(side.rig))
				}
				synctest.Wait()
				side.rig.tick(60)
				side.rig.Stop()
				wantCalls(t, side.whose, side.rig.calls(), side.want...)
			}
		})
	}
}

// A newWheel makes a wheel driven by the clock.
type newWheel = func(t *testing.T, interval time.Duration, execute func(key, value any)) peer

// noting returns a wheel with a tick of a second and timers due from the first on, each so much later than
// the one before. The callback notes its time and then calls f.
func noting(t *testing.T, wheel newWheel, timers int, apart time.Duration, f func()) *rig {
	t.Helper()
	r := newRig()
	r.peer = wheel(t, time.Second, func(key, _ any) {
		r.noteTime(key)
		f()
	})
	for i := range timers {
		must(t, r.SetTimer(i, 0, time.Second+time.Duration(i)*apart))
	}
	return r
}

// TestWheelDiffersByClock has wheels driven by the clock.
func TestWheelDiffersByClock(t *testing.T) {
	ignore := func(any, any) {}
	for _, c := range []struct {
		name         string
		ours, theirs any
		do           func(t *testing.T, wheel newWheel) any
	}{
		{"set between two ticks: early", 55 * ms, 5 * ms, func(t *testing.T, wheel newWheel) any {
			fired := make(chan time.Time, 1)
			w := wheel(t, 50*ms, func(any, any) { fired <- time.Now() })
			defer w.Stop()
			time.Sleep(45 * ms)
			set := time.Now()
			must(t, w.SetTimer("x", 1, 50*ms))
			return (<-fired).Sub(set)
		}},
		{"callbacks of one tick: one after another", "[0@1s 1@1s 2@1s]", "[0@1s 1@1.05s 2@1.1s]", func(t *testing.T, wheel newWheel) any {
			w := noting(t, wheel, 3, 0, func() { time.Sleep(50 * ms) })
			time.Sleep(10 * time.Second)
			w.Stop()
			return fmt.Sprint(w.calls())
		}},
		{"slow callbacks: pile up goroutines", 64, 100, func(t *testing.T, wheel newWheel) any {
			w := noting(t, wheel, 100, time.Second, func() { time.Sleep(time.Hour) })
			time.Sleep(10 * time.Minute)
			running := len(w.calls())
			w.Stop()
			time.Sleep(time.Hour)
			return running
		}},
		{"removed while it waits for its turn: fires", 64, 100, func(t *testing.T, wheel newWheel) any { // 64 have begun
			w := noting(t, wheel, 100, 0, func() { time.Sleep(ms) })
			time.Sleep(time.Second)
			synctest.Wait()
			for i := range 100 {
				must(t, w.RemoveTimer(i))
			}
			time.Sleep(10 * time.Second)
			w.Stop()
			return len(w.calls())
		}},
		{"Goexit in a callback: the others of the tick are lost", 5, 1, func(t *testing.T, wheel newWheel) any {
			w := noting(t, wheel, 5, 0, runtime.Goexit)
			time.Sleep(10 * time.Second)
			w.Stop()
			return len(w.calls())
		}},
		{"Drain: does not wait, all others do", "100ms 1ms", "0s 100ms", func(t *testing.T, wheel newWheel) any {
			w := wheel(t, time.Second, ignore)
			defer w.Stop()
			must(t, w.SetTimer("x", 1, time.Minute))
			began := time.Now()
			set := make(chan time.Duration)
			go func() {
				time.Sleep(ms)
				_ = w.SetTimer("y", 1, time.Minute)
				set <- time.Since(began)
			}()
			must(t, w.Drain(func(any, any) { time.Sleep(100 * ms) }))
			drained := time.Since(began)
			return fmt.Sprint(drained, <-set)
		}},
		{"Drain: its function cannot use the wheel", true, false, func(t *testing.T, wheel newWheel) any {
			w := wheel(t, time.Second, ignore)
			must(t, w.SetTimer("x", 1, time.Minute))
			results := make(chan error, 1)
			must(t, w.Drain(func(key, _ any) { results <- w.RemoveTimer(key) }))
			time.Sleep(time.Hour)
			done := len(results) == 1
			w.Stop() // sets go-zero's wheel free
			<-results
			return done
		}},
		{"Drain: 8 calls at once", 64, 8, func(t *testing.T, wheel newWheel) any {
			w := wheel(t, time.Second, ignore)
			defer w.Stop()
			return drainAtOnce(t, w)
		}},
		{"Stop twice: panics", false, true, func(t *testing.T, wheel newWheel) (panics any) {
			w := wheel(t, time.Second, ignore)
			w.Stop()
			defer func() { panics = recover() != nil }()
			w.Stop()
			return nil
		}},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			wantSame(t, "ours", c.do(t, ourClock), c.ours)
			wantSame(t, "go-zero", c.do(t, theirClock), c.theirs)
		})
	}
	inBubble(t, "Drain with a ticker", func(t *testing.T) {
		wantSame(t, "ours: calls at once", drainAtOnce(t, newOurs(t, 10)), 64)
	})
}

// drainAtOnce returns how many calls of Drain begin at once.
func drainAtOnce(t *testing.T, w peer) int {
	t.Helper()
	for i := range 100 {
		must(t, w.SetTimer(i, nil, step))
	}
	var begun atomic.Int32
	go func() { _ = w.Drain(func(any, any) { begun.Add(1); time.Sleep(time.Second) }) }()
	synctest.Wait()
	n := int(begun.Load())
	time.Sleep(time.Minute / 2)
	return n
}

// TestWheelDiffersInMemory measures the memory of removed timers. go-zero keeps each until the
// cursor reaches it.
func TestWheelDiffersInMemory(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, r *rig){
		"one key, set and removed": func(t *testing.T, r *rig) {
			for range 20_000 {
				must(t, r.SetTimer("x", 1, 200*step))
				must(t, r.RemoveTimer("x"))
			}
		},
		"many keys, drained": func(t *testing.T, r *rig) {
			for i := range 20_000 {
				must(t, r.SetTimer(i, 1, 200*step))
			}
			must(t, r.Drain(func(any, any) {}))
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			ours, theirs := newOurs(t, 300), newTheirs(t, 300)
			defer theirs.Stop()
			for _, r := range []*rig{ours, theirs} {
				before := settle.Heap()
				do(t, r)
				synctest.Wait()
				grown := settle.Heap() - before
				if r == ours && grown > 100_000 {
					t.Errorf("ours: %d bytes", grown)
				}
				if r == theirs && grown < 1_000_000 {
					t.Errorf("go-zero: %d bytes", grown)
				}
			}
		})
	}
}

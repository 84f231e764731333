package timingwheel_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// TestNettyHashedWheelTimer: Netty, a network framework for Java, has one wheel for
// the time-outs of all connections, of 512 slots of 100 ms. Most of its timers are
// cancelled.
//
// Its pending time-outs filled the memory until it got a limit (netty#5647),
// cancelled ones were kept until their bucket came round (#2541, #2561), its count
// of the pending went wrong when one was cancelled in the tick it was due (#14959),
// and delays grew after a minute (#1959). A slow task delays all others, as it runs
// on the thread of the wheel.
func TestNettyHashedWheelTimer(t *testing.T) {
	const tick, slots = 100 * ms, 512
	inBubble(t, "a limit refuses and accepts again", func(t *testing.T) {
		const limit = 3
		w, log := keyedWheel(t, tick, slots, timingwheel.WithLimit(limit), timingwheel.WithWorkers(1))
		refuses := func() {
			t.Helper()
			if err := w.SetTimer("one more", 0, second); !errors.Is(err, timingwheel.ErrFull) {
				t.Errorf("at the limit: %v, want ErrFull", err)
			}
			wantLen(t, w, limit)
		}
		fillers := 0
		fill := func() {
			t.Helper()
			for w.Len() < limit && !t.Failed() {
				fillers++
				noError(t, w.SetTimer(fmt.Sprint("filler ", fillers), 0, second))
			}
			refuses()
		}
		noError(t, w.SetTimer("a", 1, 5*second))
		fill()
		noError(t, w.SetTimer("a", 2, 6*second)) // it is there already
		answers(t, true)(w.MoveTimer("a", 7*second))
		refuses()
		answers(t, true)(w.RemoveTimer("filler 1"))
		fill()
		time.Sleep(second) // the fillers fire
		synctest.Wait()
		wantLen(t, w, 1)
		fill()
		noError(t, w.Drain(func(string, int) {}))
		wantLen(t, w, 0)
		fill()
		w.Stop()
		wantLen(t, w, 0)
		log.want(t, "filler 2 at 1s", "filler 3 at 1s")
	})
	inBubble(t, "the limit counts what waits for a worker", func(t *testing.T) {
		const limit = 10
		most, calls := 0, 0 // written by the one worker
		var w *timingwheel.TimingWheel[int, int]
		w = wheelOf(t, tick, slots, func(int, int) {
			calls++
			most = max(most, w.Len())
			time.Sleep(second)
		}, timingwheel.WithLimit(limit), timingwheel.WithWorkers(1))
		refused := 0
		for key := range 1000 { // ten seconds
			if err := w.SetTimer(key, 0, tick); errors.Is(err, timingwheel.ErrFull) {
				refused++
			} else {
				noError(t, err)
			}
			if n := w.Len(); n > limit {
				t.Fatalf("%d timers, the limit is %d", n, limit)
			}
			time.Sleep(10 * ms)
		}
		time.Sleep(hour)
		synctest.Wait()
		if refused == 0 || most > limit || calls+refused != 1000 {
			t.Errorf("%d refused, %d called, %d waited at most", refused, calls, most)
		}
	})
	inBubble(t, "a million times set and cancelled", func(t *testing.T) {
		w, log := keyedWheel(t, tick, slots)
		noError(t, w.SetTimer("warm", 0, hour))
		answers(t, true)(w.RemoveTimer("warm"))
		before := heap()
		for range 1_000_000 {
			_ = w.SetTimer("key", 1, 30*second)
			_, _ = w.RemoveTimer("key")
		}
		if s := w.Stats(); s.Tombstones > 8 || s.Pending != 0 || s.Removed != 1_000_001 {
			t.Errorf("%+v", s)
		}
		if grown := heap() - before; grown > 64<<10 {
			t.Errorf("the heap has grown by %d bytes", grown)
		}
		runtime.KeepAlive(w)
		time.Sleep(hour)
		log.want(t)
	})
	inBubble(t, "never early, and at most a tick late", func(t *testing.T) {
		const n = 20_000 // Netty's own test allows two ticks and the delay again
		timers, _ := handles(t, tick, slots)
		random := rand.New(rand.NewPCG(3, 4))
		fired := atomic.Int64{}
		for range n {
			time.Sleep(time.Duration(random.Int64N(int64(10 * ms))))
			delay := time.Duration(random.Int64N(int64(5*second))) + 1
			began := time.Now()
			timers.AfterFunc(delay, func() {
				fired.Add(1)
				if took := time.Since(began); took < delay || took >= delay+tick {
					t.Errorf("a timer of %v fired after %v", delay, took)
				}
			})
		}
		time.Sleep(10 * second)
		synctest.Wait()
		if fired.Load() != n {
			t.Errorf("%d of %d timers fired", fired.Load(), n)
		}
	})
	inBubble(t, "a cancellation is decided once", func(t *testing.T) {
		const n = 5000
		var called, cancelled [n]atomic.Int32
		w := wheelOf(t, tick, slots, func(key, _ int) { called[key].Add(1) })
		for key := range n {
			noError(t, w.SetTimer(key, 0, second))
		}
		var users sync.WaitGroup
		for range 2 {
			users.Go(func() {
				time.Sleep(second) // till the tick at which they are due
				for key := range n {
					if removed, err := w.RemoveTimer(key); err != nil {
						t.Error(err)
					} else if removed {
						cancelled[key].Add(1)
					}
				}
			})
		}
		users.Wait()
		time.Sleep(hour)
		synctest.Wait()
		for key := range n {
			if c, r := called[key].Load(), cancelled[key].Load(); c+r != 1 {
				t.Fatalf("key %d was called %d times and cancelled %d times", key, c, r)
			}
		}
		if s := w.Stats(); s.Fired+s.Removed != n || w.Len() != 0 {
			t.Errorf("Len %d, %+v", w.Len(), s)
		}
	})
	inBubble(t, "the same by handle", func(t *testing.T) {
		const n = 5000
		var called, cancelled [n]atomic.Int32
		timers, _ := handles(t, tick, slots)
		var all [n]*timingwheel.Timer
		for i := range n {
			all[i] = timers.AfterFunc(second, func() { called[i].Add(1) })
		}
		var users sync.WaitGroup
		for range 2 {
			users.Go(func() {
				time.Sleep(second)
				for i := range n {
					if all[i].Stop() {
						cancelled[i].Add(1)
					}
				}
			})
		}
		users.Wait()
		time.Sleep(hour)
		synctest.Wait()
		for i := range n {
			if c, r := called[i].Load(), cancelled[i].Load(); c+r != 1 {
				t.Fatalf("timer %d was called %d times and stopped %d times", i, c, r)
			}
		}
	})
	inBubble(t, "Len while timers are cancelled in the tick they are due", func(t *testing.T) {
		w, log := keyedWheel(t, tick, slots, timingwheel.WithWorkers(1))
		for i := range 5 {
			noError(t, w.SetTimer(fmt.Sprint(i), 0, second))
		}
		time.Sleep(second)
		left := 5
		for i := range 5 {
			if removed, err := w.RemoveTimer(fmt.Sprint(i)); removed {
				left--
			} else if err != nil {
				t.Error(err)
			}
			answers(t, false)(w.RemoveTimer(fmt.Sprint(i)))
			if n := w.Len(); n < 0 || n > left {
				t.Errorf("Len = %d with at most %d left", n, left)
			}
		}
		synctest.Wait()
		wantLen(t, w, 0)
		if n := log.len(); n != left {
			t.Errorf("%d called, %d not cancelled", n, left)
		}
	})
	// Netty's stop returns the time-outs that were not processed.
	inBubble(t, "what stop returns", func(t *testing.T) {
		w, log := keyedWheel(t, tick, slots)
		noError(t, w.SetTimer("fires", 1, second))
		noError(t, w.SetTimer("left", 2, 90*second))
		noError(t, w.SetTimer("left too", 3, hour))
		time.Sleep(2 * second)
		log.want(t, "fires=1 at 1s")
		left := map[string]int{}
		began := time.Now()
		for p := range w.All() {
			left[fmt.Sprint(p.Key, " in ", p.Due.Sub(began))] = p.Value
		}
		w.Stop()
		if len(left) != 2 || left["left in 1m28s"] != 2 || left["left too in 59m58s"] != 3 {
			t.Errorf("left: %v", left)
		}
		time.Sleep(day)
		log.want(t, "fires=1 at 1s")
	})
	inBubble(t, "stop in a task, and after it", func(t *testing.T) { // Netty refuses the former
		var w *timingwheel.TimingWheel[string, int]
		w = wheelOf(t, tick, slots, func(string, int) { w.Stop() })
		noError(t, w.SetTimer("a", 0, second))
		time.Sleep(2 * second)
		synctest.Wait()
		if err := w.SetTimer("b", 0, second); !errors.Is(err, timingwheel.ErrClosed) {
			t.Errorf("after Stop: %v, want ErrClosed", err)
		}
	})
	inBubble(t, "a slow task delays no other", func(t *testing.T) {
		w := wheelOf(t, tick, slots, func(string, int) { time.Sleep(hour) })
		timers, log := handles(t, tick, slots)
		noError(t, w.SetTimer("slow", 0, second))
		timers.AfterFunc(2*second, func() { time.Sleep(hour) })
		timers.AfterFunc(3*second, log.noting("x"))
		time.Sleep(2 * hour)
		log.want(t, "x at 3s")
	})
	inBubble(t, "delays that wrap", func(t *testing.T) {
		timers, log := handles(t, tick, slots)
		w, keyed := keyedWheel(t, tick, slots)
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2} {
			timers.AfterFunc(d, log.noting("x"))
			noError(t, w.SetTimer(d.String(), 0, d))
		}
		timers.AfterFunc(365*day, log.noting("a year"))
		time.Sleep(400 * day)
		log.want(t, "a year at 8760h0m0s")
		keyed.want(t)
		wantLen(t, w, 3)
	})
	inBubble(t, "delays do not grow", func(t *testing.T) {
		w, log := keyedWheel(t, tick, slots)
		var want []string
		for range 300 {
			noError(t, w.SetTimer("x", 0, second))
			time.Sleep(second)
			synctest.Wait()
			want = append(want, fmt.Sprintf("x at %v", time.Duration(len(want)+1)*second))
		}
		log.want(t, want...)
	})
}

// heap returns the bytes in use, after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // finalizers and pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

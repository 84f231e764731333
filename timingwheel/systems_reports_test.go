package timingwheel_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// TestReportsOfUsers does what users of other wheels reported not to work. Those of
// RussellLuo and Netty are with the tests named after these.
//
// Not to be done from outside: a driver that wakes up late, as the fake clock waits
// for it (akka#1547, camunda#767, go-zero#3619; TestKeyedCatchesUp), and a wall clock
// that is set (KAFKA-4051).
func TestReportsOfUsers(t *testing.T) {
	// antlabs/timer: Reset locks a list and then adds to that list.
	inBubble(t, "antlabs: Reset of a live timer does not block", func(t *testing.T) {
		timers, log := handles(t, 10*ms, 256)
		timer := timers.AfterFunc(second, log.noting("x"))
		for range 10 {
			timer.Reset(second)
		}
		timers.AfterFunc(second, log.noting("other"))
		time.Sleep(hour)
		log.want(t, "other at 1s", "x at 1s")
	})
	// antlabs/timer: 19 ms gave 9.1 ms, and 109 ms 99.3 ms.
	inBubble(t, "antlabs: never early", func(t *testing.T) {
		timers, log := handles(t, 10*ms, 256)
		time.Sleep(9 * ms)
		timers.AfterFunc(19*ms, log.noting("19"))
		timers.AfterFunc(109*ms, log.noting("109"))
		time.Sleep(hour)
		log.want(t, "19 at 30ms", "109 at 120ms")
	})
	// polarismesh/polaris#751: one tick is added per round.
	inBubble(t, "polaris: setting a timer in its callback adds no tick per round", func(t *testing.T) {
		calls := &firings{began: time.Now()}
		var w *timingwheel.TimingWheel[string, int]
		w = wheelOf(t, 100*ms, 64, func(key string, round int) {
			calls.note(key)
			if round < 5 {
				noError(t, w.SetTimer(key, round+1, second))
			}
		})
		noError(t, w.SetTimer("x", 1, second))
		time.Sleep(hour)
		calls.want(t, "x at 1s", "x at 2s", "x at 3s", "x at 4s", "x at 5s")
	})
	inBubble(t, "polaris: nor do slow callbacks", func(t *testing.T) {
		timers, log := handles(t, 100*ms, 64)
		timer := timers.Every(second, func() { log.note("x"); time.Sleep(730 * ms) })
		time.Sleep(4500 * ms)
		timer.Stop()
		time.Sleep(hour)
		log.want(t, "x at 1s", "x at 2s", "x at 3s", "x at 4s")
	})
	// rfyiamcool/go-timewheel#28: 100 ms at a tick of 50 ms fired at 150 ms.
	inBubble(t, "rfyiamcool: the first delay is not a tick too long", func(t *testing.T) {
		for slots := 1; slots <= 8; slots++ {
			timers, log := handles(t, 50*ms, slots)
			timers.AfterFunc(100*ms, log.noting("x"))
			timers.Repeat(2, 100*ms, log.noting("repeat"))
			time.Sleep(hour)
			log.want(t, "repeat at 100ms", "x at 100ms", "repeat at 200ms")
		}
	})
	// ouqiang/timewheel: both fire, and only the latter can be removed.
	inBubble(t, "ouqiang: a key set twice is one timer", func(t *testing.T) {
		w, log := keyedWheel(t, second, 60)
		noError(t, w.SetTimer("x", 1, second))
		noError(t, w.SetTimer("x", 2, 2*second))
		wantLen(t, w, 1)
		noError(t, w.SetTimer("y", 1, second))
		noError(t, w.SetTimer("y", 2, 2*second))
		answers(t, true)(w.RemoveTimer("y"))
		time.Sleep(hour)
		log.want(t, "x=2 at 2s")
	})
	// godis#52: nobody had started the wheel.
	inBubble(t, "godis: a wheel needs no start", func(t *testing.T) {
		w, log := keyedWheel(t, second, 60)
		time.Sleep(hour)
		noError(t, w.SetTimer("x", 0, second))
		time.Sleep(hour)
		log.want(t, "x at 1h0m1s")
	})
	// qi7chen/timer-benchmarks#5: the size went negative.
	inBubble(t, "qi7chen: a callback that removes its own timer", func(t *testing.T) {
		var w *timingwheel.TimingWheel[string, int]
		w = wheelOf(t, second, 60, func(key string, _ int) {
			answers(t, false)(w.RemoveTimer(key))
			answers(t, false)(w.MoveTimer(key, second))
			wantLen(t, w, 0)
		})
		noError(t, w.SetTimer("x", 0, second))
		time.Sleep(hour)
		synctest.Wait()
		wantLen(t, w, 0)
	})
	// tokio#8334: after 12 days and one long sleep timers hung. tikv#11940: a panic
	// after 2³⁶ ms.
	inBubble(t, "tokio: years of uptime", func(t *testing.T) {
		timers, log := handles(t, ms, 4096)
		began := log.began
		for _, uptime := range []time.Duration{12 * day, 1<<32*ms - ms, 1 << 32 * ms, 1<<36*ms - ms, 1 << 36 * ms, 100 * 365 * day} {
			time.Sleep(time.Until(began.Add(uptime)))
			log.began = time.Now()
			timers.AfterFunc(ms, log.noting("short"))
			timers.AfterFunc(hour, log.noting("long"))
			time.Sleep(2 * hour)
			log.want(t, "short at 1ms", "long at 1h0m0s")
			log.all = nil
		}
	})
	// tokio#3270: a panic.
	inBubble(t, "tokio: Reset of a timer that has fired", func(t *testing.T) {
		timers, log := handles(t, ms, 64)
		timer := timers.AfterFunc(ms, log.noting("x"))
		time.Sleep(second)
		if timer.Reset(ms) {
			t.Error("Reset: true, though it had fired")
		}
		time.Sleep(second)
		log.want(t, "x at 1ms", "x at 1.001s")
	})
	// golang#38119.
	inBubble(t, "Go: a timer that is reset all the time starves no other", func(t *testing.T) {
		timers, log := handles(t, ms, 64)
		busy := timers.AfterFunc(10*ms, log.noting("busy"))
		timers.AfterFunc(500*ms, log.noting("x"))
		for range 1000 {
			time.Sleep(ms)
			busy.Reset(10 * ms)
		}
		time.Sleep(second)
		log.want(t, "x at 500ms", "busy at 1.01s")
	})
	// siddontang/go#12: a data race. To be run with the race detector.
	inBubble(t, "siddontang: everything at once", func(t *testing.T) {
		w, _ := keyedWheel(t, ms, 8)
		timers, _ := handles(t, ms, 8)
		shared := timers.Every(ms, func() {})
		var users sync.WaitGroup
		for user := range 4 {
			users.Go(func() {
				for i := range 200 {
					key := fmt.Sprint((user + i) % 5)
					_ = w.SetTimer(key, i, time.Duration(i%20+1)*ms)
					_, _ = w.MoveTimer(key, time.Duration(i%7+1)*ms)
					_, _ = w.RemoveTimer(fmt.Sprint(i % 5))
					_, _ = w.Len(), w.Stats()
					timers.AfterFunc(time.Duration(i%9)*ms, func() {}).Reset(ms)
					shared.Reset(time.Duration(i%3+1) * ms)
					if i%50 == 0 {
						noError(t, w.Drain(func(string, int) {}))
					}
					time.Sleep(ms / 2)
				}
			})
		}
		users.Wait()
	})
	// ben-manes/caffeine#431 and theine#64: a bucket is reached a unit late.
	inBubble(t, "theine: every delay from every tick", func(t *testing.T) {
		const slots, longest = 4, 70 // more than slots² ticks
		timers, _ := handles(t, ms, slots)
		fired := atomic.Int64{}
		for range 2 * slots * slots {
			for d := 1; d <= longest; d++ {
				due := time.Now().Add(time.Duration(d) * ms)
				timers.AfterFunc(time.Duration(d)*ms, func() {
					fired.Add(1)
					if late := time.Since(due); late != 0 {
						t.Errorf("a timer of %d ticks fired %v late", d, late)
					}
				})
			}
			time.Sleep(ms)
		}
		time.Sleep(second)
		synctest.Wait()
		if n := fired.Load(); n != 2*slots*slots*longest {
			t.Errorf("%d timers fired, want %d", n, 2*slots*slots*longest)
		}
	})
}

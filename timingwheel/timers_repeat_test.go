package timingwheel

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func mustTimers(t testing.TB, interval time.Duration, slots int, opts ...Option) *Timers {
	t.Helper()
	timers, err := NewTimers(interval, slots, opts...)
	must(t, err)
	t.Cleanup(func() { // also wait for the callbacks
		if err := timers.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return timers
}

// tmTimes has the times since it was made at which something happened.
type tmTimes struct {
	start time.Time
	mu    sync.Mutex
	all   []time.Duration
}

func newTimes() *tmTimes { return &tmTimes{start: time.Now()} }

func (l *tmTimes) note() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, time.Since(l.start))
}

func (l *tmTimes) times() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

func (l *tmTimes) len() int { return len(l.times()) }

// want checks the times, in milliseconds, when nothing moves.
func (l *tmTimes) want(t *testing.T, ms ...int) {
	t.Helper()
	synctest.Wait()
	want, all := make([]time.Duration, len(ms)), l.times()
	for i, n := range ms {
		want[i] = time.Duration(n) * time.Millisecond
	}
	if !slices.Equal(all, want) {
		t.Fatalf("called at %v, want %v", all, want)
	}
}

// wantSame fails a test unless it got what it wants.
func wantSame[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// A tmSelf is a timer that its own callback uses.
type tmSelf struct{ atomic.Pointer[Timer] }

func (s *tmSelf) Stop() bool                 { return s.Load().Stop() }
func (s *tmSelf) Reset(d time.Duration) bool { return s.Load().Reset(d) }

func wantPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

const ms = time.Millisecond

// TestEveryDoesNotDrift checks that each of 20,000 calls of Every is at most a tick after
// its planned time.
func TestEveryDoesNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		time.Sleep(3 * ms)
		l := newTimes()
		every := timers.Every(25*ms, l.note)
		time.Sleep(20_000*25*ms + 10*ms)
		wantSame(t, "Stop", every.Stop(), true)
		all := l.times()
		for i, at := range all {
			if late := at - time.Duration(i+1)*25*ms; late < 0 || late >= 10*ms {
				t.Fatalf("call %d at %v", i, at)
			}
		}
		wantSame(t, "calls", len(all), 20_000)
	})
}

// TestEverySkipsWhatItMisses checks that calls that are due during a slow call are skipped and
// never overlap, and that one call follows when the only worker was busy for several intervals.
func TestEverySkipsWhatItMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers, busy := mustTimers(t, 10*ms, 8), mustTimers(t, 10*ms, 8, WithWorkers(1))
		slow, late := newTimes(), newTimes()
		timers.Every(20*ms, func() {
			slow.note()
			if slow.len() == 1 {
				time.Sleep(75 * ms) // 20 to 95
			}
		})
		busy.Every(20*ms, late.note)
		busy.AfterFunc(10*ms, func() { time.Sleep(95 * ms) }) // to 105
		time.Sleep(145 * ms)
		slow.want(t, 20, 100, 120, 140)
		late.want(t, 105, 120, 140)
	})
}

// TestEveryHugeInterval checks that the longest interval neither overflows nor fires, and
// can be changed by Reset.
func TestEveryHugeInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		every := timers.Every(1<<63-1, l.note)
		time.Sleep(time.Hour)
		wantSame(t, "Reset", every.Reset(30*time.Minute), true)
		time.Sleep(time.Hour - ms)
		wantSame(t, "Reset to the last time", every.Reset(1<<63-1), true)
		time.Sleep(time.Hour)
		l.want(t, 90*60*1000)
		wantSame(t, "Stop", every.Stop(), true)
	})
}

// TestRepeatingArguments checks that wrong arguments of Every, Repeat, Schedule and
// tickers panic at the call.
func TestRepeatingArguments(t *testing.T) {
	timers := mustTimers(t, 10*ms, 8)
	f := func() {}
	every, ticker := timers.Every(time.Hour, f), timers.NewTicker(time.Hour)
	for what, call := range map[string]func(){
		"Every 0":                            func() { timers.Every(0, f) },
		"Every -1":                           func() { timers.Every(-1, f) },
		"Every without a function":           func() { timers.Every(1, nil) },
		"Repeat -1 times":                    func() { timers.Repeat(-1, 1, f) },
		"Repeat at an interval of 0":         func() { timers.Repeat(1, 0, f) },
		"Repeat 0 times at an interval of 0": func() { timers.Repeat(0, 0, f) },
		"Repeat without a function":          func() { timers.Repeat(1, 1, nil) },
		"Schedule without a scheduler":       func() { timers.Schedule(nil, f) },
		"Schedule without a function":        func() { timers.Schedule(tmNexts{}, nil) },
		"Schedule, when Next panics":         func() { timers.Schedule(tmNexts{func(time.Time) time.Time { panic("oops") }}, f) },
		"AfterFunc without a function":       func() { timers.AfterFunc(1, nil) },
		"At without a function":              func() { timers.At(time.Now(), nil) },
		"NewTicker 0":                        func() { timers.NewTicker(0) },
		"Ticks 0":                            func() { timers.Ticks(t.Context(), 0) },
		"Reset of Every to 0":                func() { every.Reset(0) },
		"Reset of NewTicker to -1":           func() { ticker.Reset(-1) },
	} {
		wantPanic(t, what, call)
	}
	wantSame(t, "timers that were started", timers.Len(), 2)
}

// startKind starts a timer with whole multiples of an interval.
func startKind(t *Timers, kind string, interval time.Duration, f func()) *Timer {
	switch kind {
	case "Every":
		return t.Every(interval, f)
	case "Repeat":
		return t.Repeat(1000, interval, f)
	}
	return t.Schedule(periodic{time.Now(), interval}, f)
}

// periodic says the multiples of a period since a start.
type periodic struct {
	start  time.Time
	period time.Duration
}

func (p periodic) Next(after time.Time) time.Time {
	n := after.Sub(p.start)/p.period + 1
	return p.start.Add(n * p.period)
}

// tmNexts is a function as a Scheduler, or says nothing.
type tmNexts struct {
	next func(after time.Time) time.Time
}

func (s tmNexts) Next(after time.Time) time.Time {
	if s.next == nil {
		return time.Time{}
	}
	return s.next(after)
}

// TestScheduleOfThePast checks that a scheduler that returns only past moments gets one
// call per tick, and one without a moment none until Reset.
func TestScheduleOfThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		past := time.Now().Add(-time.Hour)
		timer := timers.Schedule(tmNexts{func(time.Time) time.Time { return past }}, l.note)
		time.Sleep(45 * ms)
		wantSame(t, "Stop", timer.Stop(), true)
		if n := l.len(); n < 4 || n > 5 {
			t.Errorf("%d calls in 4 ticks: %v", n, l.times())
		}
		l = newTimes() // at 45
		nothing := timers.Schedule(tmNexts{}, l.note)
		wantSame(t, "Stop of nothing", nothing.Stop(), false)
		wantSame(t, "Reset of nothing", nothing.Reset(10*ms), false)
		time.Sleep(time.Second)
		l.want(t, 15)
		wantSame(t, "Stop after that", nothing.Stop(), false)
	})
}

// TestSchedulerPanics checks that a panic or Goexit of Next is reported and ends the calls,
// and that Reset starts them again.
func TestSchedulerPanics(t *testing.T) {
	for text, fail := range map[string]func(){"oops": func() { panic("oops") }, "Goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			var reported []any
			timers := mustTimers(t, 10*ms, 8, WithWorkers(1), WithOnPanic(func(r any, _ []byte) { reported = append(reported, r) }))
			l := newTimes()
			asked := 0
			timer := timers.Schedule(tmNexts{func(after time.Time) time.Time {
				if asked++; asked == 3 {
					fail()
				}
				return after.Add(20 * ms)
			}}, l.note)
			time.Sleep(time.Second)
			synctest.Wait()
			wantSame(t, "Stop", timer.Stop(), false)
			if len(reported) != 1 || !strings.Contains(fmt.Sprint(reported[0]), text) {
				t.Errorf("reported %v, want %s", reported, text)
			}
			wantSame(t, "Reset", timer.Reset(10*ms), false)
			time.Sleep(15 * ms)
			l.want(t, 20, 40, 1010)
			wantSame(t, "Stop", timer.Stop(), true)
		})
	}
}

// TestSchedulerUsesTheTimer checks that Next may call methods of the timer: no lock is
// held.
func TestSchedulerUsesTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		var timer tmSelf
		asked := 0
		timer.Store(timers.Schedule(tmNexts{func(after time.Time) time.Time {
			switch asked++; asked {
			case 2:
				wantSame(t, "Reset", timer.Reset(100*ms), true)
			case 3:
				wantSame(t, "Stop", timer.Stop(), true)
			}
			timers.AfterFunc(time.Hour, func() {})
			return after.Add(20 * ms)
		}}, l.note))
		time.Sleep(time.Second)
		l.want(t, 20, 120)
		wantSame(t, "Stop", timer.Stop(), false)
	})
}

// TestEveryStopIsNeverLost stops timers that repeat at random moments, in real time: at most
// one more call begins, which was claimed before.
func TestEveryStopIsNeverLost(t *testing.T) {
	timers := mustTimers(t, minInterval, 8)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				var calls, running atomic.Int32
				timer := startKind(timers, []string{"Every", "Repeat", "Schedule"}[g%3], minInterval, func() {
					if running.Add(1) != 1 {
						t.Error("calls overlap")
					}
					calls.Add(1)
					time.Sleep(time.Duration(i%3) * 50 * time.Microsecond)
					running.Add(-1)
				})
				time.Sleep(time.Duration(g*i%30) * 37 * time.Microsecond)
				if !timer.Stop() {
					t.Error("Stop: got false")
				}
				atStop := calls.Load()
				time.Sleep(4 * ms) // for a call too many to happen
				if timer.Stop() {
					t.Error("Stop again: got true")
				}
				t.Cleanup(func() { // before that of mustTimers: a late call is still counted by Shutdown
					if err := timers.Shutdown(context.Background()); err != nil || calls.Load() > atStop+1 {
						t.Errorf("%d calls after Stop, %v", calls.Load()-atStop, err)
					}
				})
			}
		})
	}
	wg.Wait()
}

// TestScheduleAfterTheWallClockWasSetBack checks that the next call is planned after the
// planned one, although the wall clock says that this is in the future.
func TestScheduleAfterTheWallClockWasSetBack(t *testing.T) {
	c := newClock(10 * ms)
	planned := time.Now().Add(time.Hour)
	var asked time.Time
	r := repeat{moment: planned, times: forever, left: forever, scheduler: tmNexts{func(after time.Time) time.Time {
		asked = after
		return after.Add(time.Minute)
	}}}
	wait, moment, ok := r.next(&c)
	if !asked.Equal(planned) || !moment.Equal(planned.Add(time.Minute)) || !ok {
		t.Errorf("asked for what is after %v, planned is %v", asked, planned)
	}
	if d := c.moment(wait.deadline).Sub(moment); d < -time.Second || d > time.Second {
		t.Errorf("deadline %v, moment %v", c.moment(wait.deadline), moment)
	}
}

// TestEveryKeepsItsRate checks that a call that begins and ends some time after its tick,
// as all do outside of fake time, does not make Every skip the next.
func TestEveryKeepsItsRate(t *testing.T) {
	for _, kind := range []string{"Every", "Repeat", "Schedule", "Schedule by addition"} {
		synctest.Test(t, func(t *testing.T) {
			timers := mustTimers(t, 10*ms, 8)
			start := func(l *tmTimes) {
				f := func() {
					time.Sleep(50 * time.Microsecond)
					l.note()
				}
				if kind == "Schedule by addition" {
					timers.Schedule(tmNexts{func(prev time.Time) time.Time { return prev.Add(10 * ms) }}, f)
					return
				}
				startKind(timers, kind, 10*ms, f)
			}
			fresh, inCallback := newTimes(), newTimes()
			time.Sleep(20 * time.Microsecond) // since the tick
			start(fresh)
			timers.AfterFunc(5*ms, func() { // at 10
				time.Sleep(30 * time.Microsecond)
				start(inCallback)
			})
			time.Sleep(515 * ms)
			synctest.Wait()
			// From 20 and 30 on.
			if fresh.len() != 50 || inCallback.len() != 49 {
				t.Errorf("%s: %d and %d calls in 51 ticks, want 50 and 49", kind, fresh.len(), inCallback.len())
			}
		})
	}
}

// TestMissedMomentsAreNotAsked checks that a scheduler is asked for the moment after the
// planned one, and after a stall for the one after the present, not for all in between.
func TestMissedMomentsAreNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		var asked []time.Duration
		timer := timers.Schedule(tmNexts{func(after time.Time) time.Time {
			asked = append(asked, after.Sub(l.start))
			return after.Add(25 * ms)
		}}, func() {
			l.note()
			if l.len() == 2 {
				time.Sleep(time.Hour)
			}
		})
		const hour = 60 * 60 * 1000
		time.Sleep(time.Hour + 115*ms)
		l.want(t, 30, 50, hour+80, hour+100) // the hour begins at 50
		wantSame(t, "Stop", timer.Stop(), true)
		want := []time.Duration{0, 25 * ms, 50 * ms, time.Hour + 50*ms, time.Hour + 75*ms, time.Hour + 100*ms}
		if !slices.Equal(asked, want) {
			t.Errorf("asked for what is after %v, want %v", asked, want)
		}
	})
}

// TestEveryFrom checks the first call, and those after it, for a moment to come and for one that has passed,
// also the first of all: since then whole seconds have passed when a bubble begins.
func TestEveryFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 64)
		began := time.Now()
		time.Sleep(250 * ms)
		timers.EveryFrom(time.Time{}, time.Second, func() {
			if late := time.Since(began) % time.Second; late >= 20*ms {
				t.Errorf("from the zero Time: %v after a whole second", late)
			}
		})
		time.Sleep(3 * time.Second)
		wantSame(t, "calls", timers.Stats().Fired, 3)
		for _, from := range []time.Duration{250 * ms, 0, -ms, -time.Second, -1750 * ms, -100*time.Hour - 750*ms} {
			timers := mustTimers(t, 10*ms, 64)
			began := time.Now()
			var calls []time.Duration
			timer := timers.EveryFrom(began.Add(from), time.Second, func() { calls = append(calls, time.Since(began)) })
			time.Sleep(3500 * ms)
			timer.Stop()
			first := from // at from + k seconds, k the first that has not passed
			for first < 0 {
				first += time.Second
			}
			if len(calls) < 3 {
				t.Fatalf("from %v: %d calls", from, len(calls))
			}
			for i, at := range calls {
				if late := at - first - time.Duration(i)*time.Second; late < 0 || late >= 20*ms {
					t.Errorf("from %v: call %d after %v", from, i, at)
				}
			}
		}
	})
}

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
	if err != nil {
		t.Fatal(err)
	}
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

func (l *tmTimes) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// want checks the times, in milliseconds, when nothing moves.
func (l *tmTimes) want(t *testing.T, ms ...int) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	want := make([]time.Duration, len(ms))
	for i, n := range ms {
		want[i] = time.Duration(n) * time.Millisecond
	}
	if !slices.Equal(l.all, want) {
		t.Fatalf("called at %v, want %v", l.all, want)
	}
}

func wantTimers(t *testing.T, what string, got, want bool) {
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
		every := timers.Every(25*ms, l.note) // planned at 28, 53, 78, 103, ... of the wheel
		time.Sleep(130 * ms)
		l.want(t, 27, 57, 77, 107, 127)
		l.mu.Lock()
		l.all = nil
		l.mu.Unlock()
		time.Sleep(1_000_000 * 25 * ms / 50)
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, at := range l.all {
			planned := time.Duration(i+6) * 25 * ms
			if late := at - planned; late < 0 || late >= 10*ms {
				t.Fatalf("call %d at %v, planned for %v", i, at, planned)
			}
		}
		if len(l.all) != 20_000 {
			t.Errorf("%d calls", len(l.all))
		}
		wantTimers(t, "Stop", every.Stop(), true)
		wantTimers(t, "Stop again", every.Stop(), false)
	})
}

// TestEverySkipsDuringASlowCall checks that calls that are due during a slow call are
// skipped and never overlap.
func TestEverySkipsDuringASlowCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		slow := true
		var now, most atomic.Int32
		timers.Every(20*ms, func() {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			l.note()
			if slow {
				time.Sleep(75 * ms) // 20 to 95: those of 40, 60 and 80 are swallowed
				slow = false
			}
		})
		time.Sleep(145 * ms)
		l.want(t, 20, 100, 120, 140)
		if most.Load() != 1 {
			t.Errorf("%d calls at once", most.Load())
		}
	})
}

// TestEveryStallIsOneCall checks that one call follows when the only worker was busy for
// several intervals.
func TestEveryStallIsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8, WithWorkers(1))
		l := newTimes()
		timers.Every(20*ms, l.note)
		timers.AfterFunc(10*ms, func() { time.Sleep(95 * ms) }) // to 105
		time.Sleep(165 * ms)
		l.want(t, 105, 120, 140, 160)
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
		l.want(t)
		wantTimers(t, "Reset", every.Reset(30*time.Minute), true)
		time.Sleep(time.Hour - ms)
		if l.len() != 1 {
			t.Errorf("%d calls, want one", l.len())
		}
		wantTimers(t, "Reset to the last time", every.Reset(1<<63-1), true)
		time.Sleep(time.Hour)
		if l.len() != 1 {
			t.Errorf("%d calls, want one", l.len())
		}
		wantTimers(t, "Stop", every.Stop(), true)
	})
}

// TestRepeatingArguments checks that wrong arguments of Every, Repeat, Schedule and
// tickers panic at the call.
func TestRepeatingArguments(t *testing.T) {
	timers := mustTimers(t, 10*ms, 8)
	f := func() {}
	wantPanic(t, "Every 0", func() { timers.Every(0, f) })
	wantPanic(t, "Every -1", func() { timers.Every(-1, f) })
	wantPanic(t, "Every without a function", func() { timers.Every(1, nil) })
	wantPanic(t, "Repeat -1 times", func() { timers.Repeat(-1, 1, f) })
	wantPanic(t, "Repeat at an interval of 0", func() { timers.Repeat(1, 0, f) })
	wantPanic(t, "Repeat 0 times at an interval of 0", func() { timers.Repeat(0, 0, f) })
	wantPanic(t, "Repeat without a function", func() { timers.Repeat(1, 1, nil) })
	wantPanic(t, "Schedule without a scheduler", func() { timers.Schedule(nil, f) })
	wantPanic(t, "Schedule without a function", func() { timers.Schedule(tmNexts{}, nil) })
	wantPanic(t, "AfterFunc without a function", func() { timers.AfterFunc(1, nil) })
	wantPanic(t, "NewTicker 0", func() { timers.NewTicker(0) })
	wantPanic(t, "Ticks 0", func() { timers.Ticks(t.Context(), 0) })
	if timers.Tick(0) != nil || timers.Tick(-1) != nil {
		t.Error("Tick of an interval that is not positive: not nil")
	}
	wantPanic(t, "At without a function", func() { timers.At(time.Now(), nil) })
	if n := timers.Len(); n != 0 {
		t.Errorf("%d timers were started", n)
	}
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

// TestResetDuringCall resets a timer that repeats while its callback runs, by the callback
// and by another goroutine: the next call waits for the end of the running one.
func TestResetDuringCall(t *testing.T) {
	for _, kind := range []string{"Every", "Repeat", "Schedule"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timers := mustTimers(t, 10*ms, 8)
				l := newTimes()
				var timer tmSelf
				call := 0
				timer.Store(startKind(timers, kind, 20*ms, func() {
					l.note()
					switch call++; call {
					case 1: // at 20: again at 20+50
						wantTimers(t, "Reset by itself", timer.Reset(50*ms), true)
						time.Sleep(25 * ms)
					case 2: // at 70 to 125, reset at 85 to 90: waits for the call
						time.Sleep(55 * ms)
					case 4:
						timer.Reset(time.Minute)
						timer.Stop()
					}
				}))
				time.Sleep(85 * ms)
				wantTimers(t, "Reset by another", timer.Reset(5*ms), true)
				time.Sleep(time.Hour)
				synctest.Wait()
				l.mu.Lock()
				defer l.mu.Unlock()
				third := l.all[2]
				if third < 125*ms || third > 130*ms {
					t.Errorf("the call that waited was at %v, want 125ms to 130ms", third)
				}
				// That call was planned for 90 ms, and those of Every and Repeat now
				// follow each other in 5 ms, those of Schedule in 20 as before.
				if want := []time.Duration{20 * ms, 70 * ms, third, 140 * ms}; !slices.Equal(l.all, want) {
					t.Errorf("called at %v, want %v", l.all, want)
				}
				wantTimers(t, "Stop at the end", timer.Stop(), false)
			})
		})
	}
}

// TestEveryGoesOnAfterAPanic checks that a timer that repeats goes on after calls that
// panic and call Goexit.
func TestEveryGoesOnAfterAPanic(t *testing.T) {
	for _, kind := range []string{"Every", "Repeat", "Schedule"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reported atomic.Int32
				timers := mustTimers(t, 10*ms, 8, WithWorkers(1), WithOnPanic(func(any, []byte) { reported.Add(1) }))
				l := newTimes()
				call := 0
				timer := startKind(timers, kind, 20*ms, func() {
					l.note()
					switch call++; call {
					case 1:
						panic("oops")
					case 2:
						runtime.Goexit()
					case 3:
						defer time.Sleep(25 * ms)
						panic("oops")
					}
				})
				time.Sleep(125 * ms)
				l.want(t, 20, 40, 60, 100, 120)
				wantTimers(t, "Stop", timer.Stop(), true)
				if s := timers.Stats(); reported.Load() != 3 || s.Panics != 3 {
					t.Errorf("%d panics reported, %d counted", reported.Load(), s.Panics)
				}
				time.Sleep(time.Second)
				l.want(t, 20, 40, 60, 100, 120)
			})
		})
	}
}

// TestRepeat checks the number of calls of Repeat: skipped calls do not count, and Reset
// gives it all calls again.
func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		var timer tmSelf
		calls := 0
		timer.Store(timers.Repeat(3, 20*ms, func() {
			l.note()
			switch calls++; calls {
			case 2:
				time.Sleep(50 * ms) // 40 to 90: two are swallowed, and do not count
			case 3:
				wantTimers(t, "Stop in the last call", timer.Stop(), false)
			}
		}))
		time.Sleep(time.Second)
		l.want(t, 20, 40, 100)
		wantTimers(t, "Stop at the end", timer.Stop(), false)

		l = newTimes() // another three
		wantTimers(t, "Reset at the end", timer.Reset(70*ms), false)
		time.Sleep(30 * ms)
		wantTimers(t, "Reset", timer.Reset(70*ms), true)
		time.Sleep(75 * ms)
		l.want(t, 100)
		wantTimers(t, "Reset midway", timer.Reset(40*ms), true) // at 105: another three
		time.Sleep(130 * ms)
		l.want(t, 100, 150, 190, 230) // the interval is 40 now
		wantTimers(t, "Stop at the end", timer.Stop(), false)

		l = newTimes() // at 235
		wantTimers(t, "Reset at the end", timer.Reset(10*ms), false)
		time.Sleep(16 * ms)
		wantTimers(t, "Stop midway", timer.Stop(), true)
		time.Sleep(time.Second)
		if l.len() != 1 {
			t.Errorf("called %d times, want once", l.len())
		}
	})
}

// TestRepeatResetInLastCall checks that Reset in the last call of a Repeat returns false,
// as that call has ended the timer, and starts it again.
func TestRepeatResetInLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		var timer tmSelf
		timer.Store(timers.Repeat(2, 20*ms, func() {
			l.note()
			if l.len() == 2 {
				wantTimers(t, "Reset in the last call", timer.Reset(30*ms), false)
				wantTimers(t, "Reset again", timer.Reset(50*ms), true)
			}
		}))
		time.Sleep(time.Second)
		l.want(t, 20, 40, 90, 140)
	})
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

// TestSchedule checks the calls of Schedule and the moments for which it asks, also after
// a slow call and a Reset.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		var asked []time.Duration
		first := time.Now()
		moments := []int{15, 30, 42, 200, 210, 220}
		timer := timers.Schedule(tmNexts{func(after time.Time) time.Time {
			if after.Before(first) {
				t.Errorf("asked for what comes after %v", after)
			}
			asked = append(asked, after.Sub(first))
			for _, m := range moments {
				if at := first.Add(time.Duration(m) * ms); at.After(after) {
					return at
				}
			}
			return time.Time{}
		}}, func() {
			l.note()
			if l.len() == 4 {
				time.Sleep(15 * ms) // 200 to 215: 210 is swallowed
			}
		})
		time.Sleep(25 * ms)
		l.want(t, 20)
		wantTimers(t, "Reset", timer.Reset(5*ms), true) // first at 30, in place of the planned one
		time.Sleep(time.Second)
		l.want(t, 20, 30, 50, 200, 220)
		// Always the planned moment, and the present one if what follows that is over.
		if want := []time.Duration{0, 15 * ms, 30 * ms, 42 * ms, 200 * ms, 215 * ms, 220 * ms}; !slices.Equal(asked, want) {
			t.Errorf("asked for what is after %v, want %v", asked, want)
		}
		wantTimers(t, "Stop at the end", timer.Stop(), false)
		if n := timers.Len(); n != 0 {
			t.Errorf("Len: %d", n)
		}
		l = newTimes()
		wantTimers(t, "Reset at the end", timer.Reset(10*ms), false)
		nothing := timers.Schedule(tmNexts{}, l.note) // a scheduler without a moment
		wantTimers(t, "Stop of nothing", nothing.Stop(), false)
		if n := timers.Len(); n != 1 { // that which was reset
			t.Errorf("Len: %d", n)
		}
		time.Sleep(time.Second)
		l.want(t, 15)
		wantTimers(t, "Stop after that", timer.Stop(), false)
	})
}

// TestScheduleOfThePast checks that a scheduler that returns only past moments gets one
// call per tick.
func TestScheduleOfThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		l := newTimes()
		past := time.Now().Add(-time.Hour)
		timer := timers.Schedule(tmNexts{func(time.Time) time.Time { return past }}, l.note)
		time.Sleep(45 * ms)
		synctest.Wait()
		if n := l.len(); n < 4 || n > 5 {
			t.Errorf("%d calls in 4 ticks: %v", n, l.all)
		}
		wantTimers(t, "Stop", timer.Stop(), true)
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
			l.want(t, 20, 40)
			wantTimers(t, "Stop", timer.Stop(), false)
			if len(reported) != 1 || !strings.Contains(fmt.Sprint(reported[0]), text) {
				t.Errorf("reported %v, want %s", reported, text)
			}
			wantTimers(t, "Reset", timer.Reset(10*ms), false)
			time.Sleep(15 * ms)
			if l.len() != 3 {
				t.Errorf("%d calls, want 3", l.len())
			}
			wantTimers(t, "Stop", timer.Stop(), true)

			wantPanic(t, "Schedule, when Next panics", func() {
				timers.Schedule(tmNexts{func(time.Time) time.Time { panic("oops") }}, l.note)
			})
			if n := timers.Len(); n != 0 {
				t.Errorf("Len: %d", n)
			}
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
				wantTimers(t, "Reset", timer.Reset(100*ms), true)
			case 3:
				wantTimers(t, "Stop", timer.Stop(), true)
			}
			timers.AfterFunc(time.Hour, func() {})
			return after.Add(20 * ms)
		}}, l.note))
		time.Sleep(time.Second)
		l.want(t, 20, 120)
		wantTimers(t, "Stop", timer.Stop(), false)
	})
}

// TestEveryStopIsNeverLost stops timers that repeat at random moments, in real time: at most
// one more call begins, which was claimed before.
func TestEveryStopIsNeverLost(t *testing.T) {
	timers := mustTimers(t, minInterval, 8)
	var wg sync.WaitGroup
	type count struct{ atStop, calls int32 }
	var counts [8 * 40]func() count
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				var calls, running atomic.Int32
				f := func() {
					if running.Add(1) != 1 {
						t.Error("calls overlap")
					}
					calls.Add(1)
					time.Sleep(time.Duration(i%3) * 50 * time.Microsecond)
					running.Add(-1)
				}
				timer := startKind(timers, []string{"Every", "Repeat", "Schedule"}[g%3], minInterval, f)
				time.Sleep(time.Duration(g*i%30) * 37 * time.Microsecond)
				if !timer.Stop() {
					t.Error("Stop: got false")
				}
				n := calls.Load()
				counts[g*40+i] = func() count { return count{n, calls.Load()} }
				time.Sleep(4 * ms) // for a call too many to happen
				if timer.Stop() {
					t.Error("Stop again: got true")
				}
			}
		})
	}
	wg.Wait()
	if err := timers.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, load := range counts {
		if c := load(); c.calls > c.atStop+1 {
			t.Errorf("%d calls after Stop", c.calls-c.atStop)
		}
	}
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
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timers := mustTimers(t, 10*ms, 8)
				start := func(f func()) *Timer {
					if kind == "Schedule by addition" {
						return timers.Schedule(tmNexts{func(prev time.Time) time.Time { return prev.Add(10 * ms) }}, f)
					}
					return startKind(timers, kind, 10*ms, f)
				}
				fresh, inCallback := newTimes(), newTimes()
				time.Sleep(20 * time.Microsecond) // since the tick
				start(func() {
					time.Sleep(50 * time.Microsecond)
					fresh.note()
				})
				timers.AfterFunc(5*ms, func() { // at 10
					time.Sleep(30 * time.Microsecond)
					start(func() {
						time.Sleep(50 * time.Microsecond)
						inCallback.note()
					})
				})
				time.Sleep(515 * ms)
				synctest.Wait()
				// From 20 and 30 on.
				if fresh.len() != 50 || inCallback.len() != 49 {
					t.Errorf("%d and %d calls in 51 ticks, want 50 and 49", fresh.len(), inCallback.len())
				}
			})
		})
	}
}

// TestResetChangesTheInterval checks that Reset changes the interval, as time.Ticker.Reset
// does.
func TestResetChangesTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		called, ticked := newTimes(), newTimes()
		every, ticker, theirs := timers.Every(100*ms, called.note), timers.NewTicker(100*ms), time.NewTicker(100*ms)
		wantTimers(t, "Reset of Every", every.Reset(10*ms), true)
		wantTimers(t, "Reset of NewTicker", ticker.Reset(10*ms), true)
		theirs.Reset(10 * ms)
		want := newTimes()
		for range 35 {
			<-theirs.C
			want.note()
			<-ticker.C
			ticked.note()
		}
		synctest.Wait()
		if !slices.Equal(called.all, want.all) || !slices.Equal(ticked.all, want.all) {
			t.Errorf("called at %v, ticks at %v, those of package time at %v", called.all, ticked.all, want.all)
		}
		for _, d := range []time.Duration{0, -1} {
			wantPanic(t, "Reset of Every", func() { every.Reset(d) })
			wantPanic(t, "Reset of NewTicker", func() { ticker.Reset(d) })
		}
		every.Stop()
		ticker.Stop()
		theirs.Stop()
	})
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
		wantTimers(t, "Stop", timer.Stop(), true)
		want := []time.Duration{0, 25 * ms, 50 * ms, time.Hour + 50*ms, time.Hour + 75*ms, time.Hour + 100*ms}
		if !slices.Equal(asked, want) {
			t.Errorf("asked for what is after %v, want %v", asked, want)
		}
	})
}

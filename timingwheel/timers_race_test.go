package timingwheel

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A tmLedger counts what happened to one timer. Every start that took, that is
// AfterFunc and a Reset that returned false, ends in a call or in a Stop that
// returned true; a Reset that returned true moves one, and neither begins nor
// ends it.
type tmLedger struct {
	timer                 *Timer
	starts, stopped, done atomic.Int64
	dueBy                 atomic.Int64 // a lower bound for the next call, in ns since start
	early                 atomic.Int64
}

// TestTimersLedger stops and resets shared timers, and some of its own, from several
// goroutines as they fire, in real time, and checks that each call is accounted for.
func TestTimersLedger(t *testing.T) {
	timers := mustTimers(t, minInterval, 4)
	const (
		workers = 8
		shared  = 4
		rounds  = 4000
	)
	newLedger := func() *tmLedger {
		l := &tmLedger{}
		l.starts.Add(1)
		l.timer = timers.AfterFunc(time.Duration(rand.IntN(10))*minInterval, func() { l.done.Add(1) })
		return l
	}
	all := make([]*tmLedger, shared+workers)
	for i := range all {
		all[i] = newLedger()
	}
	var wg sync.WaitGroup
	for g := range workers {
		wg.Go(func() {
			for i := range rounds {
				l := all[rand.IntN(shared)]
				if i%3 == 0 {
					l = all[shared+g]
				}
				switch rand.IntN(8) {
				case 0:
					if l.timer.Stop() {
						l.stopped.Add(1)
					}
				case 1:
					time.Sleep(time.Duration(rand.IntN(3)) * minInterval)
				default:
					if !l.timer.Reset(time.Duration(rand.IntN(5)-1) * minInterval / 2) {
						l.starts.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	for deadline := time.Now().Add(time.Minute); timers.Len() > 0 && time.Now().Before(deadline); {
		time.Sleep(ms)
	}
	must(t, timers.Shutdown(t.Context()))
	total := int64(0)
	for i, l := range all {
		starts, stopped, done := l.starts.Load(), l.stopped.Load(), l.done.Load()
		if starts != stopped+done {
			t.Errorf("timer %d: %d starts, %d stopped and %d called", i, starts, stopped, done)
		}
		total += done
	}
	if total == 0 {
		t.Error("nothing was called")
	}
	wantSame(t, "Fired", timers.Stats().Fired, uint64(total))
}

// TestTimersNeverEarly resets timers under load, mostly to later: none fires before its
// last deadline, and none after Stop has returned true.
func TestTimersNeverEarly(t *testing.T) {
	timers := mustTimers(t, minInterval, 4)
	start := time.Now()
	since := func() int64 { return int64(time.Since(start)) }
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 60 {
				// dueBy is written before a deadline is made later, and before one
				// made earlier is waited for.
				var l tmLedger
				l.dueBy.Store(since() + int64(5*minInterval))
				// It may be due at the moment it is reset: then the call was right.
				var resetting atomic.Bool
				l.timer = timers.AfterFunc(5*minInterval, func() {
					if !resetting.Load() && since() < l.dueBy.Load() {
						l.early.Add(1)
					}
					l.done.Add(1)
				})
				stopped := false
				for range 30 {
					d := time.Duration(rand.Int64N(int64(10 * minInterval)))
					resetting.Store(true)
					before := since()
					was := l.timer.Reset(d)
					if !was && l.done.Load() == 0 {
						// A call has been claimed and may see the new deadline.
						for l.done.Load() == 0 {
							runtime.Gosched()
						}
					}
					l.dueBy.Store(before + int64(d))
					l.done.Store(0)
					resetting.Store(false)
					if rand.IntN(4) == 0 {
						time.Sleep(time.Duration(rand.Int64N(int64(d + 1))))
					}
					if rand.IntN(10) == 0 && l.timer.Stop() {
						stopped = true
						break
					}
				}
				if stopped {
					n := l.done.Load()
					time.Sleep(5 * minInterval)
					if l.done.Load() != n {
						t.Error("called after Stop had returned true")
					}
				}
				l.timer.Stop()
				wantSame(t, "calls that were early", l.early.Load(), 0)
			}
		})
	}
	wg.Wait()
}

// TestTimerDueAndUnclaimed checks that timers that are due while the only worker is busy
// can be stopped and moved until their callbacks begin.
func TestTimerDueAndUnclaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8, WithWorkers(1))
		l := newTimes()
		timers.AfterFunc(10*ms, func() { time.Sleep(95 * ms) }) // to 105
		stop := timers.AfterFunc(20*ms, l.note)
		later := timers.AfterFunc(30*ms, l.note)
		sooner := timers.AfterFunc(40*ms, l.note)
		every := timers.Every(50*ms, l.note)
		once := timers.Repeat(1, 50*ms, l.note)
		stays := timers.AfterFunc(60*ms, l.note)
		time.Sleep(75 * ms)
		synctest.Wait()
		if s, err := timers.Stats(), checkTimers(timers); s.Overdue != 6 || s.Running != 1 || s.Pending != 0 || err != nil {
			t.Errorf("Stats: %+v, %v", s, err)
		}
		wantSame(t, "Stop", stop.Stop(), true)
		wantSame(t, "Stop again", stop.Stop(), false)
		wantSame(t, "Reset to later", later.Reset(100*ms), true)   // 175, at 180
		wantSame(t, "Reset to sooner", sooner.Reset(5*ms), true)   // 80: the worker is not free yet
		wantSame(t, "Reset of Every", every.Reset(60*ms), true)    // 135, at 140, then 195, at 200
		wantSame(t, "Stop of a Repeat", once.Stop(), true)         //
		wantSame(t, "Reset of a Repeat", once.Reset(70*ms), false) // 145, at 150
		if err := checkTimers(timers); timers.Len() != 5 || err != nil {
			t.Errorf("Len: %d, %v", timers.Len(), err)
		}
		time.Sleep(130 * ms)
		l.want(t, 105, 105, 140, 150, 180, 200)
		wantSame(t, "Stop", stays.Stop(), false)
		wantSame(t, "Stop", every.Stop(), true)
	})
}

// TestWorkersLimitTimers checks that exactly as many callbacks run at once as WithWorkers
// allows.
func TestWorkersLimitTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8, WithWorkers(3))
		l := newTimes()
		for range 9 {
			timers.AfterFunc(10*ms, func() {
				l.note()
				time.Sleep(100 * ms)
			})
		}
		time.Sleep(time.Second)
		l.want(t, 10, 10, 10, 110, 110, 110, 210, 210, 210)
	})
}

// TestTimersStopRaces stops a wheel while goroutines start, stop and reset its timers.
// After Shutdown nothing runs, nothing waits, and contexts end.
func TestTimersStopRaces(t *testing.T) {
	for round := range 60 {
		timers := mustTimers(t, minInterval, 4, WithWorkers(4))
		var over, end atomic.Bool
		var wg sync.WaitGroup
		var tasks [8]*Timer
		f := func() {
			if over.Load() {
				t.Error("called after Shutdown")
			}
		}
		for i := range tasks {
			tasks[i] = timers.AfterFunc(minInterval, f)
		}
		for range 4 {
			wg.Go(func() {
				for ; !end.Load(); runtime.Gosched() {
					d := time.Duration(rand.IntN(4)) * minInterval
					switch i := rand.IntN(len(tasks)); rand.IntN(7) {
					case 0:
						tasks[i].Stop()
					case 1:
						timers.AfterFunc(d, f)
					case 2:
						timers.Repeat(2, minInterval, f)
					case 3:
						_ = timers.Sleep(context.Background(), d)
					case 4:
						ctx, cancel := timers.WithTimeout(context.Background(), d)
						if rand.IntN(2) == 0 {
							<-ctx.Done()
						}
						cancel()
					default:
						tasks[i].Reset(d)
					}
				}
			})
		}
		time.Sleep(time.Duration(round%10) * minInterval / 2)
		must(t, timers.Shutdown(t.Context()))
		over.Store(true)
		time.Sleep(minInterval)
		end.Store(true)
		wg.Wait()
		for range made(timers.shards) {
			t.Fatal("a shard is left")
		}
		wantSame(t, "Len", timers.Len(), 0)
	}
}

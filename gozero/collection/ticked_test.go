package collection_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"pgregory.net/rapid"

	"github.com/pinwheel-cache/pinwheel/gozero/collection"
)

// A tickedStep is a step of a plan: what it means depends on op.
type tickedStep struct{ op, key, halves int }

// TestTickedModel compares a wheel with a map of when each key is due, after every step of a plan.
//
// Catches: a delay rounded down, a move that keeps the old time as well, or is off
// by a revolution, a timer that Drain leaves behind, a number handed out twice.
func TestTickedModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) tickedStep {
			return tickedStep{
				op:     rapid.IntRange(0, 12).Draw(rt, "op"), // 8 and more: ticks
				key:    rapid.IntRange(0, 3).Draw(rt, "key"),
				halves: rapid.IntRange(1, 60).Draw(rt, "halves"),
			}
		}), 1, 100).Draw(rt, "plan")
		var err error
		synctest.Test(t, func(t *testing.T) { err = follow(t, plan) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// follow makes the steps of a plan, and returns an error if another callback comes than is due.
func follow(t *testing.T, plan []tickedStep) error {
	type timer struct{ value, due int }
	var mu sync.Mutex
	var fired, want []string
	note := func(key, value any) {
		mu.Lock()
		defer mu.Unlock()
		fired = append(fired, fmt.Sprint(key, "=", value))
	}
	w, h := newTicked(t, note)
	defer w.Stop()
	timers, now := make(map[int]timer), 0
	for i, s := range plan {
		delay, due := time.Duration(s.halves)*time.Minute/2, now+(s.halves+1)/2
		switch s.op {
		case 0, 1, 2:
			must(t, w.SetTimer(s.key, i, delay))
			timers[s.key] = timer{i, due}
		case 3, 4, 5:
			must(t, w.MoveTimer(s.key, delay))
			if old, found := timers[s.key]; found && s.halves == 1 {
				timers[s.key] = timer{old.value, now}
			} else if found {
				timers[s.key] = timer{old.value, due}
			}
		case 6:
			must(t, w.RemoveTimer(s.key))
			delete(timers, s.key)
		case 7:
			must(t, w.Drain(note))
			for key, old := range timers {
				timers[key] = timer{old.value, now}
			}
		default:
			for range s.halves {
				h.tick()
				now++
			}
		}
		synctest.Wait()
		for key, timer := range timers {
			if timer.due <= now {
				want = append(want, fmt.Sprint(key, "=", timer.value))
				delete(timers, key)
			}
		}
		slices.Sort(fired)
		slices.Sort(want)
		if !slices.Equal(fired, want) {
			return fmt.Errorf("step %d, %+v: tick %d: called %q, want %q", i, s, now, fired, want)
		}
		fired, want = nil, nil
	}
	return nil
}

// TestTickedMovedSoon moves timers below an interval, so that they are called at once, sets them
// again and removes some, all while ticks go on. Each is called once at most, and some are called before
// the next change.
func TestTickedMovedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, rounds = 4, 500
		var calls [users][rounds]atomic.Int32
		w, h := newTicked(t, func(key, value any) { calls[key.(int)][value.(int)].Add(1) })
		var wg sync.WaitGroup
		for u := range users {
			wg.Go(func() {
				for i := range rounds {
					_ = w.SetTimer(u, i, time.Minute)
					switch i % 3 {
					case 0:
						_ = w.MoveTimer(u, 1)
						_ = w.MoveTimer(u, 1)
					case 1:
						_ = w.RemoveTimer(u)
					case 2:
						h.c <- time.Now()
					}
				}
			})
		}
		wg.Wait()
		h.tick()
		total := int32(0)
		for u := range users {
			for i := range rounds {
				n := calls[u][i].Load()
				if total += n; n > 1 {
					t.Errorf("key %d, value %d: %d calls", u, i, n)
				}
			}
		}
		if total == 0 {
			t.Error("no timer was called")
		}
		w.Stop()
	})
}

// TestTickedChangedBeforeCall changes a timer that is due at the same tick as another, or is called at
// once, by the callback of the other. The last change wins, but for a callback that has begun.
func TestTickedChangedBeforeCall(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a new goroutine begins when this one waits
	for name, change := range map[string]func(w *collection.TimingWheel, key any){
		"moved":   func(w *collection.TimingWheel, key any) { _ = w.MoveTimer(key, time.Hour) },
		"set":     func(w *collection.TimingWheel, key any) { _ = w.SetTimer(key, "new", time.Hour) },
		"removed": func(w *collection.TimingWheel, key any) { _ = w.RemoveTimer(key) },
		"stopped": func(w *collection.TimingWheel, key any) { w.Stop() },
	} {
		for _, soon := range []bool{false, true} {
			var calls atomic.Int32
			for range 50 { // a goroutine may be preempted all the same
				synctest.Test(t, func(t *testing.T) {
					var w *collection.TimingWheel
					var h *hand
					var began atomic.Bool
					w, h = newTicked(t, func(key, _ any) {
						if calls.Add(1); began.Swap(true) {
							return
						}
						other := 1 - key.(int)
						if soon {
							_ = w.MoveTimer(other, 1)
						}
						change(w, other)
					})
					_ = w.SetTimer(0, "old", time.Minute)
					_ = w.SetTimer(1, "old", time.Minute)
					if soon {
						_ = w.MoveTimer(1, time.Hour)
					}
					h.tick()
					synctest.Wait()
					w.Stop()
				})
			}
			if calls.Load() == 100 {
				t.Errorf("%s, at once %v: the other timer was called each time", name, soon)
			}
		}
	}
}

// TestTickedMovedWhileDue changes timers that are due and wait until fewer callbacks run: it moves
// a third to later, another third to less than an interval, which leaves them in their place, and
// removes the rest.
func TestTickedMovedWhileDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, timers = 64, 3 * 64
		var calls [timers]atomic.Int32
		var running, tooMany atomic.Int32
		w, h := newTicked(t, func(key, _ any) {
			calls[key.(int)].Add(1)
			if running.Add(1) > most {
				tooMany.Add(1)
			}
			time.Sleep(time.Second)
			running.Add(-1)
		})
		for i := range timers {
			must(t, w.SetTimer(i, nil, time.Minute))
		}
		h.tick()
		var want [timers]int32 // those that are called before the next tick
		for i := range timers {
			want[i] = calls[i].Load()
			switch i % 3 {
			case 0:
				must(t, w.MoveTimer(i, time.Minute))
			case 1:
				must(t, w.MoveTimer(i, 1))
				want[i] = 1
			case 2:
				must(t, w.RemoveTimer(i))
			}
		}
		for range 2 {
			time.Sleep(time.Hour)
			for i := range timers {
				if n := calls[i].Load(); n != want[i] {
					t.Errorf("timer %d: %d calls, want %d", i, n, want[i])
				}
				if i%3 == 0 {
					want[i] = 1 // at the next tick
				}
			}
			h.tick()
		}
		wantSame(t, "calls that began while enough ran", tooMany.Load(), 0)
		w.Stop()
	})
}

// TestFailingCallbacks has more callbacks that panic or call Goexit than may run at once: they
// are logged, affect no others, and make room for others.
func TestFailingCallbacks(t *testing.T) {
	var logged bytes.Buffer
	before := logx.Reset()
	defer logx.SetWriter(before)
	logx.SetWriter(logx.NewWriter(&logged))
	synctest.Test(t, func(t *testing.T) {
		const each = 2 * 64
		var called atomic.Int64
		fail := func(key, _ any) {
			time.Sleep(time.Second) // until as many run as may
			called.Add(1)
			switch key.(int) % 3 {
			case 0:
				panic("boom")
			case 1:
				runtime.Goexit()
			}
		}
		w, h := newTicked(t, fail)
		for round := range 2 {
			for i := range 3 * each {
				must(t, w.SetTimer(i, nil, time.Minute))
			}
			if h.tick(); round == 0 {
				time.Sleep(time.Minute)
				must(t, w.SetTimer(0, nil, time.Hour))
				must(t, w.MoveTimer(0, 1)) // which calls at once, and panics
			}
			time.Sleep(time.Minute)
		}
		for i := range 3 * each {
			must(t, w.SetTimer(i, nil, time.Minute))
		}
		must(t, w.Drain(fail))
		wantSame(t, "calls", called.Load(), 3*3*each+1)
		w.Stop()
		panics, exits := strings.Count(logged.String(), "boom"), strings.Count(logged.String(), "runtime.Goexit\\n")
		if panics != 3*each+1 || exits != 3*each {
			t.Errorf("%d panics and %d exits logged, want %d, and one panic more", panics, exits, 3*each)
		}
	})
}

// TestTickedLongDelay checks that the longest delay neither overflows nor is cut to a few ticks.
func TestTickedLongDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hand{c: make(chan time.Time)}
		w, err := collection.NewTimingWheelWithTicker(1, 1, func(_, _ any) { t.Error("called") }, h)
		must(t, err)
		h.tick()
		must(t, w.SetTimer("x", 1, math.MaxInt64))
		must(t, w.SetTimer("y", 1, time.Minute))
		for range 5000 {
			h.tick()
		}
		w.Stop()
	})
}

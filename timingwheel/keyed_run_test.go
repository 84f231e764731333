package timingwheel

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

const keyedTick = 10 * time.Millisecond

// A keyedGate is a callback that blocks until it is opened.
type keyedGate struct {
	keyedCalls[string, int]
	open chan struct{}
}

func newKeyedGate() *keyedGate { return &keyedGate{open: make(chan struct{})} }

func (g *keyedGate) call(key string, value int) {
	g.add(key, value)
	<-g.open
}

// TestKeyedFailingCallbacks checks that callbacks that panic or exit are reported once each, with
// their stack, also if the report panics, and that the only worker goes on. TestKeyedModel has
// those that block, and package runner more ways to fail.
func TestKeyedFailingCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []any // by one worker
		failing := func(_ int, ending keyedEnding) { ending.end() }
		w := newKeyed(t, keyedTick, 8, failing, WithWorkers(1), WithOnPanic(func(r any, stack []byte) {
			if !strings.Contains(string(stack), "TestKeyedFailingCallbacks") {
				t.Errorf("the stack does not have the callback: %s", stack)
			}
			reports = append(reports, r)
			panic("in the report")
		}))
		for i, ending := range []keyedEnding{keyedPanics, keyedExits, keyedReturns, keyedPanics} {
			mustSetKeyed(t, w, i, ending, time.Duration(i+1)*keyedTick)
		}
		time.Sleep(4 * keyedTick)
		synctest.Wait()
		if s := w.Stats(); s.Panics != 3 || s.Fired != 4 || w.Len() != 0 {
			t.Errorf("stats %+v, %d left; want 3 panics, 4 fired", s, w.Len())
		}
		if want := []any{"oops", runner.ErrGoexit, "oops"}; !slices.Equal(reports, want) {
			t.Errorf("reported %q, want %q", reports, want)
		}
	})
}

// TestKeyedCallbackUsesWheel checks that a callback may call every method, also if it is
// the only one that may run.
func TestKeyedCallbackUsesWheel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *TimingWheel[int, string]
		var called []string
		w = newKeyed(t, keyedTick, 4, func(_ int, value string) {
			called = append(called, value) // by one worker
			switch value {
			case "first":
				wantKeyed(t, "MoveTimer of itself", false)(w.MoveTimer(1, keyedTick))
				wantKeyed(t, "RemoveTimer of itself", false)(w.RemoveTimer(1))
				wantKeyed(t, "MoveTimer", true)(w.MoveTimer(2, 9*keyedTick))
				wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(3))
				all := slices.Collect(w.All())
				if s := w.Stats(); w.Len() != 1 || len(all) != 1 || all[0].Key != 2 || s.Fired != 1 || s.Running != 1 {
					t.Errorf("Len %d, All %v, stats %+v; want key 2, and one fired and running", w.Len(), all, s)
				}
				wantKeyedErr(t, "SetTimer of itself", w.SetTimer(1, "again", keyedTick), nil)
			case "again":
				wantKeyedErr(t, "SetTimerAt", w.SetTimerAt(9, "drains", time.Now()), nil)
			case "drains":
				drained := 0
				err := w.Drain(func(int, string) { // of timer 2
					wantKeyedErr(t, "SetTimer in Drain", w.SetTimer(3, "drained", time.Hour), nil)
					wantKeyedErr(t, "Drain in Drain", w.Drain(func(int, string) { drained++ }), nil)
				})
				if err != nil || drained != 1 {
					t.Errorf("Drain: %v; the inner one gave %d timers, want 1", err, drained)
				}
				wantKeyedErr(t, "SetTimer", w.SetTimer(4, "stops", keyedTick), nil)
				wantKeyedErr(t, "SetTimer", w.SetTimer(5, "never", 9*keyedTick), nil)
			case "stops":
				w.Stop()
				if w.Shutdown(context.Background()) == nil {
					t.Error("Shutdown in a callback returned nil")
				}
			}
		}, WithWorkers(1))
		for i, value := range []string{"first", "other", "removed"} {
			mustSetKeyed(t, w, 1+i, value, time.Duration(1+4*i)*keyedTick)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []string{"first", "again", "drains", "stops"}; !slices.Equal(called, want) {
			t.Errorf("called %q, want %q", called, want)
		}
	})
}

// A keyedMeter collects the calls of the function of Drain, and counts those that run at once.
type keyedMeter struct {
	keyedCalls[int, int]
	now, most, all atomic.Int64
}

// lasting returns a function whose calls last so long.
func (m *keyedMeter) lasting(d time.Duration) func(key, value int) {
	return func(key, value int) {
		n := m.now.Add(1)
		defer m.now.Add(-1)
		for most := m.most.Load(); n > most && !m.most.CompareAndSwap(most, n); most = m.most.Load() {
		}
		m.all.Add(1)
		m.add(key, value)
		time.Sleep(d)
	}
}

// TestKeyedAllThatAreDueBegin checks that as many callbacks begin in a tick as there are
// workers, although none ends: a worker wakes the next before it calls.
func TestKeyedAllThatAreDueBegin(t *testing.T) {
	const timers = 1000 // many more than shards, and than a shard handles in one hold of its lock
	for _, oneShard := range []bool{false, true} {
		for _, workers := range []int64{timers, defaultWorkers} {
			synctest.Test(t, func(t *testing.T) {
				var begun atomic.Int64
				end := make(chan struct{})
				opts := []Option{WithWorkers(int(workers))}
				if workers == defaultWorkers {
					opts = nil
				}
				w := newKeyed(t, keyedTick, 16, func(int, int) { begun.Add(1); <-end }, opts...)
				if oneShard {
					w.mask = 0
				}
				for key := range timers {
					mustSetKeyed(t, w, key, 0, keyedTick)
				}
				time.Sleep(2*keyedTick - 1) // one tick, on which all of them are due
				synctest.Wait()
				n := begun.Load()
				close(end)
				synctest.Wait()
				if n != workers || begun.Load() != timers || w.Len() != 0 {
					t.Errorf("%d callbacks began, want %d; at the end %d, want %d; %d timers are left", n, workers, begun.Load(), timers, w.Len())
				}
			})
		}
	}
}

// A keyedPool is the pool of a user, which can be told to fail.
type keyedPool struct {
	mu     sync.Mutex
	queue  []func()
	fail   func() error // called first by submit, if it is set
	calls  atomic.Int64
	inside atomic.Int64 // calls of submit now
}

func (p *keyedPool) submit(run func()) error {
	p.calls.Add(1)
	if p.inside.Add(1) > 1 {
		panic("submit is called twice at once")
	}
	defer p.inside.Add(-1)
	p.mu.Lock()
	fail := p.fail
	p.mu.Unlock()
	if fail != nil {
		if err := fail(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, run)
	return nil
}

func (p *keyedPool) setFail(fail func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = fail
}

// run runs what was submitted, in goroutines, and waits.
func (p *keyedPool) run() {
	synctest.Wait()
	p.mu.Lock()
	queue := p.queue
	p.queue = nil
	p.mu.Unlock()
	for _, f := range queue {
		go f()
	}
	synctest.Wait()
}

// wantKeyedSleep fails unless nothing is armed, as must be if nothing waits.
func wantKeyedSleep[K comparable, V any](t *testing.T, w *TimingWheel[K, V]) {
	t.Helper()
	w.driver.mu.Lock()
	defer w.driver.mu.Unlock()
	wantSame(t, "the tick of the alarm", w.alarm.Load(), never)
	if w.driver.timer != nil && w.driver.timer.Stop() {
		t.Error("the timer of the driver is armed")
	}
}

// TestKeyedPoolRefuses checks that a pool that fails in any way is offered the timer again
// at the next tick, and that due timers can be removed meanwhile.
func TestKeyedPoolRefuses(t *testing.T) {
	for name, fail := range map[string]func() error{
		"refuse": func() error { return errors.New("no room") },
		"panic":  func() error { panic("no room") },
		"exit":   func() error { runtime.Goexit(); return nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			var called keyedCalls[int, int]
			p := new(keyedPool)
			w := newKeyed(t, keyedTick, 4, called.add, WithPool(p.submit), WithOnPanic(func(any, []byte) {}))
			p.setFail(fail)
			for key := range 10 {
				mustSetKeyed(t, w, key, key, keyedTick)
			}
			time.Sleep(5*keyedTick + keyedTick/2)
			if n := p.calls.Load(); n < 5 || n > 10 {
				t.Errorf("%s: %d offers in 5 ticks, want about one a tick", name, n)
			}
			wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(7))
			wantKeyed(t, "MoveTimer", true)(w.MoveTimer(8, 10*keyedTick))
			p.setFail(nil)
			time.Sleep(keyedTick)
			p.run()
			if n := called.len(); n != 8 {
				t.Errorf("%s: called %v, want 8", name, called.take())
			}
			time.Sleep(time.Minute)
			p.run()
			if n := called.len(); n != 9 || w.Len() != 0 {
				t.Errorf("%s: called %v, want 9; %d left", name, called.take(), w.Len())
			}
			time.Sleep(time.Minute)
			wantKeyedSleep(t, w)

			p.setFail(fail)
			mustSetKeyed(t, w, 1, 1, keyedTick)
			time.Sleep(3*keyedTick + keyedTick/2)
			wantKeyed(t, "RemoveTimer of the refused", true)(w.RemoveTimer(1))
			time.Sleep(time.Minute)
			wantKeyedSleep(t, w) // and does not wake up for it any more
		})
	}
}

// TestKeyedPoolBlocks checks that a submit that waits delays no tick, and that late calls
// find the timers that are due then, or nothing.
func TestKeyedPoolBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called keyedCalls[int, int]
		room, p := make(chan struct{}), new(keyedPool)
		p.setFail(func() error { <-room; return nil })
		w := newKeyed(t, keyedTick, 4, called.add, WithPool(p.submit))
		for key := range 8 {
			mustSetKeyed(t, w, key, 0, time.Duration(key+1)*keyedTick)
		}
		time.Sleep(8 * keyedTick)
		synctest.Wait()
		if s := w.Stats(); s.Overdue != 8 || p.calls.Load() != 1 {
			t.Errorf("backlog %d, %d offers, want 8 and 1", s.Overdue, p.calls.Load())
		}
		wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(0))
		mustSetKeyed(t, w, 1, 1, 5*keyedTick)
		close(room)
		synctest.Wait() // 6 or 7 calls are handed out
		for _, key := range []int{2, 3} {
			wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(key))
		}
		time.Sleep(5 * keyedTick) // 1 is due, and there is a call for it already
		p.run()
		if calls := called.take(); len(calls) != 5 || w.Len() != 0 {
			t.Errorf("called %v, want 1 and 4 to 7; %d left", calls, w.Len())
		}
		mustSetKeyed(t, w, 9, 9, keyedTick)
		time.Sleep(keyedTick)
		p.run()
		if calls, offered := called.len(), w.offered.Load(); calls != 1 || offered != 0 {
			t.Errorf("after all that, %d calls, want 1; %d offers are counted, want 0", calls, offered)
		}
		time.Sleep(keyedTick)
		wantKeyedSleep(t, w)
	})
}

// TestKeyedLimitOfOne checks that of two timers set at the same moment, with a limit of
// one, one is refused.
func TestKeyedLimitOfOne(t *testing.T) {
	const rounds = 20_000
	w := newKeyed(t, time.Hour, 4, func(int, int) {}, WithLimit(1))
	keys := [2]int{0, 1}
	for shard := func(key int) any { h, _ := w.hashOf(key); return w.shardOf(h) }; shard(keys[0]) == shard(keys[1]); {
		keys[1]++ // until they have not a lock in common
	}
	var arrived, set [2]atomic.Int64
	meet := func(me int, at int64) {
		arrived[me].Store(at)
		for arrived[1-me].Load() < at {
			runtime.Gosched()
		}
	}
	var all sync.WaitGroup
	for me := range 2 {
		all.Go(func() {
			for round := int64(1); round <= rounds; round++ {
				meet(me, 3*round+1)
				err := w.SetTimer(keys[me], 0, time.Hour)
				if err == nil {
					set[me].Add(1)
				}
				meet(me, 3*round+2)
				wantSame(t, "timers, with a limit of 1", w.Len(), 1)
				meet(me, 3*round+3)
				if err == nil {
					wantKeyed(t, "RemoveTimer", true)(w.RemoveTimer(keys[me]))
				}
			}
		})
	}
	all.Wait()
	if n, refused := set[0].Load()+set[1].Load(), w.Stats().Refused; n != rounds || refused != rounds {
		t.Errorf("%d timers were set in %d rounds, and %d refused, want one in each", n, rounds, refused)
	}
}

// TestKeyedInlinePool checks that timers fire on time in a pool that calls at once, and that
// one that breaks the rules, by calling a function twice or refusing it after the call, is not
// offered calls for ever. Callbacks that panic, or call Goexit and so end the goroutine that
// submits, delay no others and are reported once each.
func TestKeyedInlinePool(t *testing.T) {
	const keys = 10
	for name, after := range map[string]func(call func()) error{
		"once":               func(func()) error { return nil },
		"twice":              func(call func()) error { call(); return nil },
		"called and refused": func(func()) error { return errors.New("busy") },
	} {
		for _, ending := range []keyedEnding{keyedPanics, keyedExits} {
			synctest.Test(t, func(t *testing.T) {
				var submits, called, reports atomic.Int64
				w := newKeyed(t, keyedTick, 4, func(key int, due time.Time) {
					called.Add(1)
					if now := time.Now(); !now.Equal(due) {
						t.Errorf("%s: key %d called at %v, want %v", name, key, now, due)
					}
					ending.end()
				}, WithOnPanic(func(any, []byte) { reports.Add(1) }), WithPool(func(call func()) error {
					if submits.Add(1) > 100 {
						return nil // enough is seen
					}
					call()
					return after(call)
				}))
				for key := range keys {
					delay := keyedTick
					if name != "once" {
						delay *= time.Duration(1 + key) // what was refused waits for the next tick
					}
					mustSetKeyed(t, w, key, time.Now().Add(delay), delay)
				}
				time.Sleep(time.Minute)
				if s := w.Stats(); submits.Load() > 2*keys || called.Load() != keys || reports.Load() != keys || s.Panics != keys || s.Running != 0 {
					t.Errorf("%s: %d calls, want %d; %d offers, %d reports; stats %+v", name, called.Load(), keys, submits.Load(), reports.Load(), s)
				}
			})
		}
	}
}

// TestKeyedFair checks that a worker which cannot call all that is due calls each key about
// as often as another.
//
// Catches: a turn that goes on for what becomes due meanwhile, more turns for some shards.
func TestKeyedFair(t *testing.T) {
	const keys, rounds = 64, 50
	for _, workers := range []int{1, 2} { // one calls in order
		synctest.Test(t, func(t *testing.T) {
			var calls [keys]int
			var w *TimingWheel[int, int]
			w = newKeyed(t, keyedTick, 8, func(key, _ int) {
				calls[key]++
				time.Sleep(keyedTick)
				_ = w.SetTimer(key, 0, keyedTick)
			}, WithWorkers(workers))
			for key := range keys {
				mustSetKeyed(t, w, key, 0, keyedTick)
			}
			time.Sleep(rounds * keys * keyedTick / time.Duration(workers))
			must(t, w.Shutdown(context.Background()))
			if least, most := slices.Min(calls[:]), slices.Max(calls[:]); least < rounds/2 || most > 2*rounds {
				t.Errorf("from %d to %d calls of each key, want about %d", least, most, rounds)
			}
		})
	}
}

// TestOneWorkerCallsInOrder checks that with one worker callbacks run in the order of their ticks, across
// shards, also while they are slow, and set timers and move those that are due.
func TestOneWorkerCallsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 1))
		var w *TimingWheel[int, int]
		calls, last := 0, int64(0)
		due := map[int]int64{} // by key; nobody else uses it while the one worker calls
		set := func() {
			key, delay := random.IntN(1000), time.Duration(random.IntN(300)+1)*keyedTick
			due[key] = w.dueTick(w.in(delay).deadline)
			mustSetKeyed(t, w, key, 0, delay)
		}
		w = newKeyed(t, keyedTick, 64, func(key, _ int) {
			if calls++; due[key] < last {
				t.Errorf("call %d: a timer of tick %d after one of tick %d", calls, due[key], last)
			}
			last = due[key]
			if calls < 5000 {
				set()
			}
			time.Sleep(time.Duration(random.IntN(3)) * keyedTick / 2)
		}, WithWorkers(1))
		for range 1000 {
			set()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if calls < 5000 || w.Len() != 0 {
			t.Errorf("%d calls, %d timers left", calls, w.Len())
		}
	})
}

// TestOneWorkerWaitsForAllShards checks that one worker calls nothing of a tick before all shards have
// reached it, and nothing of a later one.
func TestOneWorkerWaitsForAllShards(t *testing.T) {
	calls := 0
	w := newKeyed(t, time.Hour, 64, func(int, int) { calls++ }, WithWorkers(1))
	first := w.dueTick(w.in(time.Hour).deadline)
	for key := range 2 { // due at the first tick, and the next
		mustSetKeyed(t, w, key, 0, time.Duration(key+1)*time.Hour)
	}
	w.advancing.Add(1) // so that the pool does nothing
	for _, p := range w.madeShards() {
		p.visit(first + 5)
	}
	for i, want := range []int{0, 1, 2} {
		reached := first - 1 + int64(i)
		w.reach(reached)
		for w.callInOrder() {
		}
		if calls != want {
			t.Errorf("%d calls at tick %d, want %d", calls, reached, want)
		}
	}
}

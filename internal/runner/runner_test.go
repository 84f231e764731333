package runner

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// never fails the test when a runner reports a panic.
func never(t *testing.T) func(any, []byte) {
	return func(recovered any, stack []byte) { t.Errorf("panic: %v\n%s", recovered, stack) }
}

// settled waits until every goroutine of the bubble is blocked or gone, and
// reports whether done is closed.
func settled(done <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// started runs f in a goroutine and returns a channel that is closed when f
// has returned.
func started(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

// A gate is an item whose callback says that it was entered and waits until it
// is opened.
type gate struct{ entered, opened chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

func (g *gate) call() {
	close(g.entered)
	<-g.opened
}

func (g *gate) open() { close(g.opened) }

func call(f func()) { f() }

func TestNewPanics(t *testing.T) {
	ok, no := func(int) {}, func() bool { return false }
	for want, all := range map[string][]func(){
		"runner: the number of workers must be positive": {
			func() { New(0, 1, ok, nil) }, func() { New(-1, 1, ok, nil) },
			func() { NewPool(0, no, no, nil) }, func() { NewPool(-1, no, no, nil) },
		},
		"runner: the backlog must not be negative": {func() { New(1, -1, ok, nil) }},
		"runner: nothing to call": {
			func() { New[int](1, 0, nil, nil) }, func() { NewPool(1, nil, no, nil) }, func() { NewPool(1, no, nil, nil) },
		},
	} {
		for i, f := range all {
			func() {
				defer func() {
					if got := recover(); got != want {
						t.Errorf("call %d: the panic is %v, want %q", i, got, want)
					}
				}()
				f()
			}()
		}
	}
}

// An item that is pushed while the only worker is about to leave is called.
func TestNothingIsLeftBehind(t *testing.T) {
	rounds := 50_000
	if testing.Short() {
		rounds = 5_000
	}
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{}, 1)
		r := New(1, 0, func(int) { done <- struct{}{} }, never(t))
		for i := range rounds {
			r.Push(uint64(i), i)
			<-done // a deadlock of the bubble if the item is left behind
		}
	})
}

func TestWaitIsBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, backlog := range []int{0, 1, 5} {
			r := New(1, backlog, call, never(t))
			gates := make([]*gate, backlog+3) // one runs, two too many are queued
			for i := range gates {
				gates[i] = newGate()
				r.Push(uint64(i), gates[i].call)
			}
			synctest.Wait()
			var waiters []<-chan struct{}
			for range 3 {
				waiters = append(waiters, started(func() {
					if err := r.Wait(t.Context()); err != nil {
						t.Errorf("Wait: %v", err)
					}
				}))
			}
			for i, g := range gates {
				for _, w := range waiters {
					if got, want := settled(w), i >= 2; got != want {
						t.Fatalf("backlog %d, %d queued: Wait returned is %v, want %v", backlog, r.Queued(), got, want)
					}
				}
				g.open()
			}
		}
	})
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(1, 0, call, never(t))
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		g := newGate()
		r.Push(0, g.call)
		r.Push(0, func() {})
		synctest.Wait()
		var got error
		waiter := started(func() { got = r.Wait(ctx) })
		if settled(waiter) {
			t.Fatal("Wait returned over the bound")
		}
		cancel(cause)
		if !settled(waiter) || got != cause {
			t.Errorf("Wait: got %v, want %v", got, cause)
		}
		if err := r.Wait(ctx); err != cause {
			t.Errorf("Wait with a context that ended: got %v, want %v", err, cause)
		}
		g.open()
		synctest.Wait()
		if err := r.Wait(ctx); err != nil {
			t.Errorf("Wait without need: got %v, want nil", err)
		}
	})
}

func TestDrainEndsWithContext(t *testing.T) {
	t.Run("Runner", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := New(1, 0, call, never(t))
			drainEndsWithContext(t, func(f func()) { r.Push(0, f) }, r.Drain)
		})
	})
	t.Run("Pool", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newList(1, never(t))
			drainEndsWithContext(t, l.add, l.Drain)
			l.checkIdle(t)
		})
	})
}

// drainEndsWithContext gives up a Drain while the only worker is busy.
func drainEndsWithContext(t *testing.T, add func(func()), drain func(context.Context) error) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	g, last := newGate(), newGate()
	last.open()
	add(g.call)
	add(last.call)
	var got error
	drained := started(func() { got = drain(ctx) })
	if settled(drained) {
		t.Fatal("Drain returned while a callback runs")
	}
	cancel(cause)
	if !settled(drained) || got != cause {
		t.Errorf("Drain: got %v, want %v", got, cause)
	}
	g.open()
	if !settled(last.entered) {
		t.Error("a call was lost with the Drain that was given up")
	}
	if err := drain(ctx); err != nil {
		t.Errorf("Drain when idle: %v", err)
	}
}

// workers counts the workers of all runners by their stacks.
func workers() int {
	buf := make([]byte, 1<<20)
	return bytes.Count(buf[:runtime.Stack(buf, true)], []byte("internal/runner.work("))
}

func TestIdleRunnerHasNoGoroutine(t *testing.T) {
	for end := time.Now().Add(time.Minute); workers() > 0 && time.Now().Before(end); { // of other tests
		time.Sleep(time.Millisecond)
	}
	synctest.Test(t, func(t *testing.T) {
		r := New(8, 0, call, nil)
		if got := workers(); got != 0 {
			t.Errorf("after New: %d workers, want 0", got)
		}
		g := newGate()
		r.Push(0, g.call)
		synctest.Wait()
		if got := workers(); got != 1 {
			t.Errorf("one callback runs: %d workers, want 1", got)
		}
		r.Push(1, runtime.Goexit)
		g.open()
		synctest.Wait()
		if got := workers(); got != 0 {
			t.Errorf("idle: %d workers, want 0", got)
		}
	})
}

// A call that waited for another of its key has not run while it waited.
func TestRunningOfAChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := New(2, 10, func(int) { <-release }, nil)
		want := func(n int, oldest time.Duration) {
			t.Helper()
			synctest.Wait()
			if gotN, gotOldest := r.Running(); gotN != n || gotOldest != oldest {
				t.Errorf("%d run, the oldest for %v; want %d and %v", gotN, gotOldest, n, oldest)
			}
		}
		want(0, 0)
		r.Push(1, 1)
		time.Sleep(time.Second)
		r.Push(1, 2)
		time.Sleep(time.Second)
		want(1, 2*time.Second)
		release <- struct{}{}
		want(1, 0)
		time.Sleep(time.Second)
		want(1, time.Second)
		close(release)
		want(0, 0)
	})
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		var r *Runner[int]
		r = New(1, 10, func(int) {
			if r.Idle() {
				t.Error("in a callback: idle")
			}
			<-end
		}, nil)
		if !r.Idle() {
			t.Error("new: not idle")
		}
		r.Push(0, 0)
		if r.Idle() {
			t.Error("an item is queued: idle")
		}
		synctest.Wait()
		close(end)
		synctest.Wait()
		if !r.Idle() {
			t.Error("nothing queued or called: not idle")
		}
	})
}

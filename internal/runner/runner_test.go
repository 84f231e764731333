package runner

import (
	"context"
	"errors"
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

// wantSame fails a test unless it got what it wants.
func wantSame[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

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

// TestWaitsEndWithContext gives up a Wait or a Drain while the only worker is busy.
func TestWaitsEndWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := New(1, 0, call, never(t)), newList(1, never(t))
		push := func(f func()) { r.Push(0, f) }
		for _, c := range []struct {
			name string
			add  func(func())
			wait func(context.Context) error
		}{{"Wait", push, r.Wait}, {"Drain", push, r.Drain}, {"Drain of a pool", l.add, l.Drain}} {
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			g, last := newGate(), newGate()
			last.open()
			c.add(g.call)
			c.add(last.call)
			synctest.Wait()
			var got error
			waiter := started(func() { got = c.wait(ctx) })
			if settled(waiter) {
				t.Fatalf("%s returned while a callback runs", c.name)
			}
			cancel(cause)
			if !settled(waiter) || got != cause {
				t.Errorf("%s: got %v, want %v", c.name, got, cause)
			}
			wantSame(t, c.name+" with a context that ended", c.wait(ctx), cause)
			g.open()
			if !settled(last.entered) {
				t.Errorf("%s: a call was lost when it was given up", c.name)
			}
			wantSame(t, c.name+" without need", c.wait(ctx), nil)
		}
	})
}

// A call that waited for another of its key has not run while it waited. The runner is idle if none is
// queued or runs.
func TestRunningOfAChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := New(2, 10, func(int) { <-release }, nil)
		want := func(n int, oldest time.Duration) {
			t.Helper()
			synctest.Wait()
			if gotN, gotOldest := r.Running(); gotN != n || gotOldest != oldest || r.Idle() != (n == 0) {
				t.Errorf("%d run, the oldest for %v, idle is %v; want %d and %v", gotN, gotOldest, r.Idle(), n, oldest)
			}
		}
		want(0, 0)
		if r.Push(1, 1); r.Idle() {
			t.Error("an item is queued: idle")
		}
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

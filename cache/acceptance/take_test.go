package acceptance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Promise 4: Take runs one fetch per key and version at a time. A waiter leaves when its own
// context ends; the first caller's cancellation does not fail the others. A panic
// or Goexit in fetch reaches its caller as such and every waiter as an error;
// nothing is stored, nothing hangs.
//
// One fetch is cache.TestOneLoadPerVersion and TestManyGoroutines, errors are cache.TestModel, and
// what becomes of callers and of the context of fetch is TestFaultyLoader, proof/pairs and the tests
// of package cache about flights.
func TestPromise4Take(t *testing.T) {
	Bubble(t, "a caller after all have left", callerAfterAllLeft)
	for _, take := range Takers() {
		Bubble(t, "panic in "+take.Name, func(t *testing.T) { fetchPanics(t, take) })
		Bubble(t, "Goexit in "+take.Name, func(t *testing.T) { fetchGoexits(t, take) })
	}
}

// takeCtx starts TakeCtx of "k" with a context of its own.
func takeCtx(c *cache.Cache[string, int], fetch func(context.Context) (int, error)) (*Outcome, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return Start(func() (int, error) { return c.TakeCtx(ctx, "k", fetch) }), cancel
}

// wantLeft fails unless the call has already returned because of its context.
func wantLeft(t *testing.T, o *Outcome, cause error) {
	t.Helper()
	synctest.Wait()
	if o.Running() {
		t.Fatal("the caller did not leave when its context ended")
	}
	if o.Value != 0 || (!errors.Is(o.Err, cause) && !errors.Is(o.Err, context.Canceled)) {
		t.Fatalf("the caller left with %d, %v; want the cause of its context", o.Value, o.Err)
	}
}

// Catches: a new caller that joins a cancelled fetch and fails as it does; two fetches at once.
func callerAfterAllLeft(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	var running atomic.Int32
	fetch := func(ctx context.Context) (int, error) {
		if running.Add(1) > 1 {
			t.Error("two fetches at once")
		}
		defer running.Add(-1)
		time.Sleep(time.Minute) // it ignores its context
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return 2, nil
	}
	abandoned, leave := takeCtx(c, fetch)
	leave(ErrLeft)
	wantLeft(t, abandoned, ErrLeft)
	late, cancel := takeCtx(c, fetch)
	defer cancel(nil)
	later := Start(func() (int, error) {
		return c.Take("k", func() (int, error) { return fetch(context.Background()) })
	})
	late.Want(t, 2, nil)
	later.Want(t, 2, nil)
	WantHit(t, c, "k", 2)
}

// Catches: a panic swallowed, wrapped, or thrown on a goroutine nobody can recover on (the process
// dies); waiters that hang or get a zero value without an error.
func fetchPanics(t *testing.T, take Taker) {
	values := []any{"boom", ErrFetch, &struct{ n int }{7}}
	for i, value := range append(values, "Weigh") {
		c := New(t, cache.Options[string, int]{MaxWeight: 10, Weigh: func(_ string, v int) uint32 {
			if v == 13 {
				panic(value)
			}
			return 1
		}})
		gate := make(chan struct{})
		loader := Start(func() (int, error) {
			return take.Take(c, "k", func() (int, error) {
				if <-gate; i < len(values) {
					panic(value)
				}
				return 13, nil
			})
		})
		var waiters []*Outcome
		for _, w := range Takers() {
			waiters = append(waiters, Start(func() (int, error) { return w.Take(c, "k", FailFetch) }))
		}
		close(gate)
		<-loader.Done
		if loader.Panicked != value {
			t.Errorf("the caller recovered %v, want %v", loader.Panicked, value)
		}
		for _, w := range waiters {
			<-w.Done
			var pe *cache.PanicError
			switch {
			case w.Panicked != nil || w.Goexit || !errors.As(w.Err, &pe):
				t.Errorf("a waiter got %d, %v (panic %v); want a *PanicError", w.Value, w.Err, w.Panicked)
			case pe.Value != value || len(pe.Stack) == 0:
				t.Errorf("a waiter got the panic %v with a stack of %d bytes, want %v", pe.Value, len(pe.Stack), value)
			case !strings.Contains(pe.Error(), fmt.Sprint(value)):
				t.Errorf("the message %q does not tell the panic %v", pe.Error(), value)
			}
		}
		WantMiss(t, c, "k")
		Start(func() (int, error) { return take.Take(c, "k", Gated(gate, 2)) }).Want(t, 2, nil)
	}
}

// Catches: a deferred clean-up that does not run for Goexit, so that waiters hang; Goexit turned
// into an error for its caller (t.FailNow in a fetch would not end the test).
func fetchGoexits(t *testing.T, take Taker) {
	c := New(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	loader := Start(func() (int, error) {
		return take.Take(c, "k", func() (int, error) { <-gate; runtime.Goexit(); return 1, nil })
	})
	waiter := Start(func() (int, error) { return c.Take("k", FailFetch) })
	waiterCtx, cancel := takeCtx(c, NoFetch(t))
	defer cancel(nil)
	close(gate)
	<-loader.Done
	if !loader.Goexit {
		t.Errorf("the caller got %d, %v (panic %v); want its goroutine to end", loader.Value, loader.Err, loader.Panicked)
	}
	for _, w := range []*Outcome{waiter, waiterCtx} {
		<-w.Done
		if w.Goexit || w.Panicked != nil || !errors.Is(w.Err, cache.ErrGoexit) {
			t.Errorf("a waiter got %d, %v (panic %v); want ErrGoexit", w.Value, w.Err, w.Panicked)
		}
	}
	WantMiss(t, c, "k")
	Start(func() (int, error) { return take.Take(c, "k", Gated(gate, 2)) }).Want(t, 2, nil)
}

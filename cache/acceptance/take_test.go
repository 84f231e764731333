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
func TestPromise4Take(t *testing.T) {
	Bubble(t, "one fetch for many callers", oneFetch)
	Bubble(t, "errors are returned and not stored", fetchErrors)

	Bubble(t, "a waiter leaves with its context", waiterLeaves)
	Bubble(t, "the first caller leaves and fails nobody", firstLeaves)
	Bubble(t, "the fetch is cancelled when all have left", allLeave)
	Bubble(t, "a caller after all have left", callerAfterAllLeft)
	Bubble(t, "a caller behind a fetch that all have left leaves", callerBehindAFetchLeaves)
	Bubble(t, "the context of fetch", fetchContext)
	Bubble(t, "a context that has ended already", endedContext)

	for _, take := range Takers() {
		Bubble(t, "panic in "+take.Name, func(t *testing.T) { fetchPanics(t, take) })
		Bubble(t, "Goexit in "+take.Name, func(t *testing.T) { fetchGoexits(t, take) })
	}
	Bubble(t, "nil fetch", nilFetch)
}

// Catches: a second fetch beside the first; a waiter that gets nothing; a miscounted wait.
func oneFetch(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	var fetches atomic.Int32
	fetch := func() (int, error) {
		fetches.Add(1)
		time.Sleep(time.Second)
		return 7, nil
	}
	began := time.Now()
	var calls []*Outcome
	for i := range 60 {
		calls = append(calls, Start(func() (int, error) { return Takers()[i%len(Takers())].Take(c, "k", fetch) }))
	}
	for _, call := range calls {
		call.Want(t, 7, nil)
	}
	if took := time.Since(began); fetches.Load() != 1 || took != time.Second {
		t.Errorf("%d fetches in %v, want 1 in 1s", fetches.Load(), took)
	}
	s := c.Stats()
	if s.Gets() != 60 || s.Loads.Waiters != 59 {
		t.Errorf("gets, waiters = %d, %d; want 60, 59", s.Gets(), s.Loads.Waiters)
	}
	WantHit(t, c, "k", 7)
}

// Catches: errors wrapped, cached, or turned into values; the value beside an error stored.
func fetchErrors(t *testing.T) {
	for _, take := range Takers() {
		c := New(t, cache.Options[string, int]{})
		gate := make(chan struct{})
		fail := func() (int, error) { <-gate; return 5, ErrFetch }
		loader := Start(func() (int, error) { return take.Take(c, "k", fail) })
		waiter := Start(func() (int, error) { return take.Take(c, "k", Gated(gate, 9)) })
		close(gate)
		<-loader.Done
		<-waiter.Done
		if loader.Err != ErrFetch || waiter.Err != ErrFetch {
			t.Errorf("%s: errors %v and %v, want fetch's own", take.Name, loader.Err, waiter.Err)
		}
		WantMiss(t, c, "k")
		WantLen(t, c, 0)
		Start(func() (int, error) { return take.Take(c, "k", Gated(gate, 2)) }).Want(t, 2, nil)
		WantHit(t, c, "k", 2)
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

// Catches: waiters that ignore their context, or take the load down with them.
func waiterLeaves(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	loader := Start(func() (int, error) { return c.Take("k", Gated(gate, 1)) })
	leaving, leave := takeCtx(c, NoFetch(t))
	staying, cancel := takeCtx(c, NoFetch(t))
	defer cancel(nil)
	deadline, cancelDeadline := context.WithTimeout(context.Background(), time.Second) // fake time
	defer cancelDeadline()
	timed := Start(func() (int, error) { return c.TakeCtx(deadline, "k", NoFetch(t)) })

	leave(ErrLeft)
	wantLeft(t, leaving, ErrLeft)
	if !staying.Running() || !timed.Running() {
		t.Fatal("another waiter left too")
	}
	began := time.Now()
	<-timed.Done
	if took := time.Since(began); took != time.Second || !errors.Is(timed.Err, context.DeadlineExceeded) {
		t.Errorf("left after %v with %v, want the deadline after 1s", took, timed.Err)
	}
	close(gate)
	loader.Want(t, 1, nil)
	staying.Want(t, 1, nil)
	WantHit(t, c, "k", 1)
}

// Catches: a fetch that ends with the context of its first caller.
func firstLeaves(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	first, leave := takeCtx(c, func(ctx context.Context) (int, error) {
		<-gate
		return 1, ctx.Err()
	})
	second, cancel := takeCtx(c, NoFetch(t))
	defer cancel(nil)
	third := Start(func() (int, error) { return c.Take("k", FailFetch) })
	leave(ErrLeft)
	wantLeft(t, first, ErrLeft)
	close(gate)
	second.Want(t, 1, nil)
	third.Want(t, 1, nil)
	WantHit(t, c, "k", 1)
}

// Catches: a fetch cancelled too early, or left running for nobody.
func allLeave(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	var cancelled atomic.Bool
	fetch := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		cancelled.Store(true)
		return 1, ctx.Err()
	}
	calls, leave := make([]*Outcome, 4), make([]context.CancelCauseFunc, 4)
	for i := range calls {
		calls[i], leave[i] = takeCtx(c, fetch)
	}
	for i, call := range calls {
		if cancelled.Load() {
			t.Fatalf("cancelled although %d callers still wait", len(calls)-i)
		}
		leave[i](ErrLeft)
		wantLeft(t, call, ErrLeft)
	}
	if !cancelled.Load() {
		t.Error("not cancelled although every caller has left")
	}
	WantMiss(t, c, "k")
	if v, err := c.Take("k", func() (int, error) { return 2, nil }); v != 2 || err != nil {
		t.Errorf("the next Take = %d, %v; want 2", v, err)
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

// Catches: a caller that waits for the fetch of others to end, and whose context does not end the
// wait.
func callerBehindAFetchLeaves(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	abandoned, leave := takeCtx(c, func(context.Context) (int, error) { <-gate; return 1, nil })
	leave(ErrLeft)
	wantLeft(t, abandoned, ErrLeft)
	late, leave := takeCtx(c, NoFetch(t))
	leave(ErrLeft)
	wantLeft(t, late, ErrLeft)
	close(gate)
	synctest.Wait()
	WantHit(t, c, "k", 1)
}

type contextKey struct{}

// Catches: values lost (traces, tenants), and a deadline of one caller that ends the fetch of all.
func fetchContext(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), contextKey{}, "value"), time.Second) // fake time
	defer cancel()
	first := Start(func() (int, error) {
		return c.TakeCtx(ctx, "k", func(ctx context.Context) (int, error) {
			if v := ctx.Value(contextKey{}); v != "value" {
				t.Errorf("value %v in the context of fetch, want the caller's", v)
			}
			time.Sleep(time.Minute)
			return 1, ctx.Err()
		})
	})
	waiter, leave := takeCtx(c, NoFetch(t))
	defer leave(nil)
	<-first.Done
	if !errors.Is(first.Err, context.DeadlineExceeded) {
		t.Errorf("the first caller left with %v, want its deadline", first.Err)
	}
	waiter.Want(t, 1, nil)

	got, err := c.TakeCtx(context.WithValue(context.Background(), contextKey{}, "other"), "uncancellable",
		func(ctx context.Context) (int, error) {
			if v := ctx.Value(contextKey{}); v != "other" {
				t.Errorf("value %v in the context of fetch, want the caller's", v)
			}
			return 3, ctx.Err()
		})
	if got != 3 || err != nil {
		t.Errorf("TakeCtx = %d, %v; want 3", got, err)
	}
}

// Catches: a load that hangs, or never ends, for a caller whose context had ended before.
func endedContext(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrLeft)
	call := Start(func() (int, error) {
		return c.TakeCtx(ctx, "k", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
	})
	wantLeft(t, call, ErrLeft)
	if v, err := c.Take("k", func() (int, error) { return 1, nil }); v != 1 || err != nil {
		t.Errorf("Take = %d, %v; want 1", v, err)
	}
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

// Catches: a nil fetch that is noticed only when it is called, and then a load that never ends.
func nilFetch(t *testing.T) {
	c := New(t, cache.Options[string, int]{})
	c.Set("present", 1)
	for _, key := range []string{"absent", "present"} {
		for name, call := range map[string]func(){
			"Take":    func() { _, _ = c.Take(key, nil) },
			"TakeCtx": func() { _, _ = c.TakeCtx(context.Background(), key, nil) },
		} {
			got := Recovered(call)
			if got == nil || !strings.Contains(fmt.Sprint(got), "fetch") || isRuntimeError(got) {
				t.Errorf("%s of an %s key with a nil fetch: panic %v, want one that says so", name, key, got)
			}
		}
	}
	if v, err := c.Take("absent", func() (int, error) { return 2, nil }); v != 2 || err != nil {
		t.Errorf("the next Take = %d, %v; want 2", v, err)
	}
}

func isRuntimeError(v any) bool {
	_, is := v.(runtime.Error)
	return is
}

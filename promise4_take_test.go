package pinwheel_test

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

// Promise 4: Take runs one fetch per key at a time. A waiter leaves when its own
// context ends; the first caller's cancellation does not fail the others. A panic
// or Goexit in fetch reaches its caller as such and every waiter as an error;
// nothing is stored, nothing hangs.
func TestPromise4Take(t *testing.T) {
	bubble(t, "one fetch for many callers", oneFetch)
	bubble(t, "keys do not wait for each other", keysApart)
	bubble(t, "a hit does not fetch", hitDoesNotFetch)
	bubble(t, "errors are returned and not stored", fetchErrors)

	bubble(t, "a waiter leaves with its context", waiterLeaves)
	bubble(t, "the first caller leaves and fails nobody", firstLeaves)
	bubble(t, "the fetch is cancelled when all have left", allLeave)
	bubble(t, "a caller after all have left", callerAfterAllLeft)
	bubble(t, "a caller behind a fenced fetch leaves", standbyLeaves)
	bubble(t, "the context of fetch", fetchContext)
	bubble(t, "a context that has ended already", endedContext)

	for _, take := range takers() {
		bubble(t, "panic in "+take.name, func(t *testing.T) { fetchPanics(t, take) })
		bubble(t, "Goexit in "+take.name, func(t *testing.T) { fetchGoexits(t, take) })
		bubble(t, "fetch calls the cache in "+take.name, func(t *testing.T) { fetchCallsCache(t, take) })
	}
	bubble(t, "panic after everyone has left", panicToNobody)
	bubble(t, "nil fetch", nilFetch)
	t.Run("storm", takeStorm)
}

// Catches: a second fetch beside the first; a waiter that gets nothing; a miscounted wait.
func oneFetch(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	var fetches atomic.Int32
	fetch := func() (int, error) {
		fetches.Add(1)
		time.Sleep(time.Second)
		return 7, nil
	}
	began := time.Now()
	var calls []*outcome
	for i := range 60 {
		calls = append(calls, start(func() (int, error) { return takers()[i%3].take(c, "k", fetch) }))
	}
	for _, call := range calls {
		call.want(t, 7, nil)
	}
	if took := time.Since(began); fetches.Load() != 1 || took != time.Second {
		t.Errorf("%d fetches in %v, want 1 in 1s", fetches.Load(), took)
	}
	s := c.Stats()
	if s.Gets() != 60 || s.Loads.Waiters != 59 {
		t.Errorf("gets, waiters = %d, %d; want 60, 59", s.Gets(), s.Loads.Waiters)
	}
	wantHit(t, c, "k", 7)
}

// Catches: one flight at a time per shard or per cache; a lock held while fetch runs.
func keysApart(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	blocked := start(func() (int, error) { return c.Take("blocked", gated(gate, 1)) })
	for i, k := range numbered("k", 500) {
		if v, err := c.Take(k, func() (int, error) { return i, nil }); v != i || err != nil {
			t.Fatalf("Take = %d, %v", v, err)
		}
	}
	c.Set("other", 1)
	wantHit(t, c, "other", 1)
	close(gate)
	blocked.want(t, 1, nil)
}

// Catches: fetch run or waited for although the value is there.
func hitDoesNotFetch(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	c.Set("k", 1)
	for _, take := range takers() {
		start(func() (int, error) { return take.take(c, "k", failFetch) }).want(t, 1, nil)
	}
	if s := c.Stats(); s.Hits != 3 || s.Misses != 0 {
		t.Errorf("hits, misses = %d, %d; want 3, 0", s.Hits, s.Misses)
	}
}

// Catches: errors wrapped, cached, or turned into values; the value beside an error stored.
func fetchErrors(t *testing.T) {
	for _, take := range takers() {
		c := newCache(t, cache.Options[string, int]{})
		gate := make(chan struct{})
		fail := func() (int, error) { <-gate; return 5, errFetch }
		loader := start(func() (int, error) { return take.take(c, "k", fail) })
		waiter := start(func() (int, error) { return take.take(c, "k", gated(gate, 9)) })
		close(gate)
		<-loader.done
		<-waiter.done
		if loader.err != errFetch || waiter.err != errFetch {
			t.Errorf("%s: errors %v and %v, want fetch's own", take.name, loader.err, waiter.err)
		}
		wantMiss(t, c, "k")
		wantLen(t, c, 0)
		start(func() (int, error) { return take.take(c, "k", gated(gate, 2)) }).want(t, 2, nil)
		wantHit(t, c, "k", 2)
	}
}

// takeCtx starts TakeCtx of "k" with a context of its own.
func takeCtx(c *cache.Cache[string, int], fetch func(context.Context) (int, error)) (*outcome, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return start(func() (int, error) { return c.TakeCtx(ctx, "k", fetch) }), cancel
}

// wantLeft fails unless the call has already returned because of its context.
func wantLeft(t *testing.T, o *outcome, cause error) {
	t.Helper()
	synctest.Wait()
	if o.running() {
		t.Fatal("the caller did not leave when its context ended")
	}
	if o.value != 0 || (!errors.Is(o.err, cause) && !errors.Is(o.err, context.Canceled)) {
		t.Fatalf("the caller left with %d, %v; want the cause of its context", o.value, o.err)
	}
}

var errLeft = errors.New("left")

// noFetch is for callers that must join the fetch of another.
func noFetch(t *testing.T) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		t.Error("a second fetch ran")
		return 0, nil
	}
}

// Catches: waiters that ignore their context, or take the load down with them.
func waiterLeaves(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	loader := start(func() (int, error) { return c.Take("k", gated(gate, 1)) })
	leaving, leave := takeCtx(c, noFetch(t))
	staying, cancel := takeCtx(c, noFetch(t))
	defer cancel(nil)
	deadline, cancelDeadline := context.WithTimeout(context.Background(), time.Second)
	defer cancelDeadline()
	timed := start(func() (int, error) { return c.TakeCtx(deadline, "k", noFetch(t)) })

	leave(errLeft)
	wantLeft(t, leaving, errLeft)
	if !staying.running() || !timed.running() {
		t.Fatal("another waiter left too")
	}
	began := time.Now()
	<-timed.done
	if took := time.Since(began); took != time.Second || !errors.Is(timed.err, context.DeadlineExceeded) {
		t.Errorf("left after %v with %v, want the deadline after 1s", took, timed.err)
	}
	close(gate)
	loader.want(t, 1, nil)
	staying.want(t, 1, nil)
	wantHit(t, c, "k", 1)
}

// Catches: a fetch that lives by the context of whoever came first.
func firstLeaves(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	first, leave := takeCtx(c, func(ctx context.Context) (int, error) {
		<-gate
		return 1, ctx.Err()
	})
	second, cancel := takeCtx(c, noFetch(t))
	defer cancel(nil)
	third := start(func() (int, error) { return c.Take("k", failFetch) })
	leave(errLeft)
	wantLeft(t, first, errLeft)
	close(gate)
	second.want(t, 1, nil)
	third.want(t, 1, nil)
	wantHit(t, c, "k", 1)
}

// Catches: a fetch cancelled too early, or left running for nobody.
func allLeave(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	var cancelled atomic.Bool
	fetch := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		cancelled.Store(true)
		return 1, ctx.Err()
	}
	calls, leave := make([]*outcome, 4), make([]context.CancelCauseFunc, 4)
	for i := range calls {
		calls[i], leave[i] = takeCtx(c, fetch)
	}
	for i, call := range calls {
		if cancelled.Load() {
			t.Fatalf("cancelled although %d callers still wait", len(calls)-i)
		}
		leave[i](errLeft)
		wantLeft(t, call, errLeft)
	}
	if !cancelled.Load() {
		t.Error("not cancelled although every caller has left")
	}
	wantMiss(t, c, "k")
	if v, err := c.Take("k", func() (int, error) { return 2, nil }); v != 2 || err != nil {
		t.Errorf("the next Take = %d, %v; want 2", v, err)
	}
}

// Catches: a newcomer that joins a cancelled fetch and fails for the sake of those who left; two
// fetches at once.
func callerAfterAllLeft(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	var running atomic.Int32
	fetch := func(ctx context.Context) (int, error) {
		if running.Add(1) > 1 {
			t.Error("two fetches at once")
		}
		defer running.Add(-1)
		time.Sleep(time.Minute) // deaf to its context
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return 2, nil
	}
	abandoned, leave := takeCtx(c, fetch)
	leave(errLeft)
	wantLeft(t, abandoned, errLeft)
	late, cancel := takeCtx(c, fetch)
	defer cancel(nil)
	later := start(func() (int, error) {
		return c.Take("k", func() (int, error) { return fetch(context.Background()) })
	})
	late.want(t, 2, nil)
	later.want(t, 2, nil)
	wantHit(t, c, "k", 2)
}

// Catches: a wait for somebody else's fetch to end that no context can end.
func standbyLeaves(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	loader := start(func() (int, error) { return c.Take("k", gated(gate, 1)) })
	c.Del("k")
	late, leave := takeCtx(c, noFetch(t))
	leave(errLeft)
	wantLeft(t, late, errLeft)
	close(gate)
	loader.want(t, 1, nil)
	wantMiss(t, c, "k")
}

type contextKey struct{}

// Catches: values lost (traces, tenants), and a deadline of one caller that ends the fetch of all.
func fetchContext(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), contextKey{}, "value"), time.Second)
	defer cancel()
	first := start(func() (int, error) {
		return c.TakeCtx(ctx, "k", func(ctx context.Context) (int, error) {
			if v := ctx.Value(contextKey{}); v != "value" {
				t.Errorf("value %v in the context of fetch, want the caller's", v)
			}
			time.Sleep(time.Minute)
			return 1, ctx.Err()
		})
	})
	waiter, leave := takeCtx(c, noFetch(t))
	defer leave(nil)
	<-first.done
	if !errors.Is(first.err, context.DeadlineExceeded) {
		t.Errorf("the first caller left with %v, want its deadline", first.err)
	}
	waiter.want(t, 1, nil)

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

// Catches: a load that hangs, or is left behind, for a caller that was gone before it came.
func endedContext(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errLeft)
	call := start(func() (int, error) {
		return c.TakeCtx(ctx, "k", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
	})
	wantLeft(t, call, errLeft)
	if v, err := c.Take("k", func() (int, error) { return 1, nil }); v != 1 || err != nil {
		t.Errorf("Take = %d, %v; want 1", v, err)
	}
}

// Catches: a panic swallowed, wrapped, or thrown on a goroutine nobody can recover on (the process
// dies); waiters that hang or get a zero value without an error.
func fetchPanics(t *testing.T, take taker) {
	for _, value := range []any{"boom", errFetch, &struct{ n int }{7}} {
		c := newCache(t, cache.Options[string, int]{})
		gate := make(chan struct{})
		loader := start(func() (int, error) {
			return take.take(c, "k", func() (int, error) { <-gate; panic(value) })
		})
		var waiters []*outcome
		for _, w := range takers() {
			waiters = append(waiters, start(func() (int, error) { return w.take(c, "k", failFetch) }))
		}
		close(gate)
		<-loader.done
		if loader.panicked != value {
			t.Errorf("the caller recovered %v, want %v", loader.panicked, value)
		}
		for _, w := range waiters {
			<-w.done
			var pe *cache.PanicError
			switch {
			case w.panicked != nil || w.goexit || !errors.As(w.err, &pe):
				t.Errorf("a waiter got %d, %v (panic %v); want a *PanicError", w.value, w.err, w.panicked)
			case pe.Value != value || len(pe.Stack) == 0:
				t.Errorf("a waiter got the panic %v with a stack of %d bytes, want %v", pe.Value, len(pe.Stack), value)
			case !strings.Contains(pe.Error(), fmt.Sprint(value)):
				t.Errorf("the message %q does not tell the panic %v", pe.Error(), value)
			}
		}
		wantMiss(t, c, "k")
		start(func() (int, error) { return take.take(c, "k", gated(gate, 2)) }).want(t, 2, nil)
	}
}

// Catches: a deferred clean-up that does not run for Goexit, so that waiters hang; Goexit turned
// into an error for its caller (t.FailNow in a fetch would not end the test).
func fetchGoexits(t *testing.T, take taker) {
	c := newCache(t, cache.Options[string, int]{})
	gate := make(chan struct{})
	loader := start(func() (int, error) {
		return take.take(c, "k", func() (int, error) { <-gate; runtime.Goexit(); return 1, nil })
	})
	waiter := start(func() (int, error) { return c.Take("k", failFetch) })
	waiterCtx, cancel := takeCtx(c, noFetch(t))
	defer cancel(nil)
	close(gate)
	<-loader.done
	if !loader.goexit {
		t.Errorf("the caller got %d, %v (panic %v); want its goroutine to end", loader.value, loader.err, loader.panicked)
	}
	for _, w := range []*outcome{waiter, waiterCtx} {
		<-w.done
		if w.goexit || w.panicked != nil || !errors.Is(w.err, cache.ErrGoexit) {
			t.Errorf("a waiter got %d, %v (panic %v); want ErrGoexit", w.value, w.err, w.panicked)
		}
	}
	wantMiss(t, c, "k")
	start(func() (int, error) { return take.take(c, "k", gated(gate, 2)) }).want(t, 2, nil)
}

// Catches: fetch run under a lock.
func fetchCallsCache(t *testing.T, take taker) {
	c := newCache(t, cache.Options[string, int]{Limit: 10})
	call := start(func() (int, error) {
		return take.take(c, "k", func() (int, error) {
			c.Set("a", 1)
			c.Del("a")
			for range c.All() {
				break
			}
			return take.take(c, "inner", func() (int, error) {
				c.Set("k", 5) // fences the outer load
				return c.Len(), nil
			})
		})
	})
	call.want(t, 1, nil)
	wantHit(t, c, "k", 5)
	wantHit(t, c, "inner", 1)
}

// Catches: a process that dies of a panic which no caller is left to take.
func panicToNobody(t *testing.T) {
	for _, end := range []func(){func() { panic("boom") }, runtime.Goexit} {
		c := newCache(t, cache.Options[string, int]{OnPanic: func(any, []byte) {}})
		gate := make(chan struct{})
		call, leave := takeCtx(c, func(context.Context) (int, error) { <-gate; end(); return 1, nil })
		leave(errLeft)
		wantLeft(t, call, errLeft)
		close(gate)
		synctest.Wait()
		if v, err := c.Take("k", func() (int, error) { return 2, nil }); v != 2 || err != nil {
			t.Errorf("the next Take = %d, %v; want 2", v, err)
		}
		mustClose(t, c)
	}
}

// Catches: a nil fetch that is noticed only when it is called, with a flight left behind for ever.
func nilFetch(t *testing.T) {
	c := newCache(t, cache.Options[string, int]{})
	c.Set("present", 1)
	for _, key := range []string{"absent", "present"} {
		for name, call := range map[string]func(){
			"Take":    func() { _, _ = c.Take(key, nil) },
			"TakeCtx": func() { _, _ = c.TakeCtx(context.Background(), key, nil) },
		} {
			got := recovered(call)
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

// Catches: two fetches at once, lost wake-ups and hangs that only real threads bring about.
func takeStorm(t *testing.T) {
	const keys = 5
	c := newCache(t, cache.Options[int, int]{Limit: 3, OnPanic: func(any, []byte) {}})
	var running [keys]atomic.Int32
	rounds := scaled(5000)
	together(8, func(g int) {
		for i := range rounds {
			key := (g + i) % keys
			fetch := func(context.Context) (int, error) {
				if running[key].Add(1) > 1 {
					t.Errorf("key %d: two fetches at once", key)
				}
				defer running[key].Add(-1)
				switch runtime.Gosched(); i % 11 {
				case 0:
					return 0, errFetch
				case 1:
					panic(errFetch)
				}
				return key, nil
			}
			ctx, cancel := context.WithCancel(context.Background())
			if i%7 == 0 {
				go cancel()
			}
			var v int
			var err error
			panicked := recovered(func() { v, err = c.TakeCtx(ctx, key, fetch) })
			cancel()
			var pe *cache.PanicError
			switch {
			case panicked == errFetch, errors.Is(err, errFetch), errors.Is(err, context.Canceled), errors.As(err, &pe):
			case panicked != nil || err != nil || v != key:
				t.Errorf("Take(%d) = %d, %v, panic %v", key, v, err, panicked)
			}
			switch i % 5 {
			case 0:
				c.Del(key)
			case 1:
				c.Set(key, key)
			}
		}
	})
	mustClose(t, c)
}

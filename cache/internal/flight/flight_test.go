package flight

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errTooLate, errWhy = errors.New("too late"), errors.New("why")

func newRules(most int, timeout time.Duration) *Rules {
	r := new(Rules)
	r.Init(most, timeout, errTooLate)
	return r
}

// begin makes f the load that a call with the context ctx begins, and returns the call.
func (r *Rules) begin(ctx context.Context, f *Flight) *Caller {
	who := r.CallerOf(ctx)
	f.Start(&who)
	return &who
}

// wantEnd checks the error and the cause of a context; nil means that it has not ended.
func wantEnd(t *testing.T, ctx context.Context, err, cause error) {
	t.Helper()
	if synctest.Wait(); ctx.Err() != err || context.Cause(ctx) != cause {
		t.Errorf("%T: %v, %v, want %v, %v", ctx, ctx.Err(), context.Cause(ctx), err, cause)
	}
}

// A nosy context wants the lock of its load to be free in each of its methods.
type nosy struct {
	context.Context
	f *Flight
}

func (n nosy) look() context.Context {
	if !n.f.mu.TryLock() {
		panic("a context is asked under the lock")
	}
	n.f.mu.Unlock()
	return n.Context
}

func (n nosy) Deadline() (time.Time, bool) { return n.look().Deadline() }
func (n nosy) Done() <-chan struct{}       { return n.look().Done() }
func (n nosy) Err() error                  { return n.look().Err() }
func (n nosy) Value(key any) any           { return n.look().Value(key) }

// TestContext checks the context of a load, of one in its fetch, and contexts derived from them. They have
// the values of the first caller, tell no deadline but the time-out, so that one of the fetch itself
// counts, and end once, as the last caller leaves, but that of a load in the background.
func TestContext(t *testing.T) {
	type key struct{}
	for _, timeout := range []time.Duration{0, time.Minute} {
		for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
			synctest.Test(t, func(t *testing.T) {
				r, f, inner, began := newRules(0, timeout), new(Flight), new(Flight), time.Now()
				request, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, 7), time.Second)
				defer cancel()
				r.begin(nosy{request, f}, f)
				own, cancel := context.WithTimeout(f, 2*time.Second)
				defer cancel()
				derived, cancel := context.WithCancel(f)
				defer cancel()
				if who := r.begin(derived, inner); len(who.Inside) != 1 || who.Inside[0] != f {
					t.Errorf("the inner load is inside %v", who.Inside)
				}
				for _, ctx := range []context.Context{f, inner} {
					if deadline, ok := ctx.Deadline(); ok != (timeout > 0) || ok && deadline.Sub(began) != timeout {
						t.Errorf("the deadline is %v, %v with the time-out %v", deadline.Sub(began), ok, timeout)
					}
				}
				joined := f.Join()
				<-request.Done()
				f.Leave(ReasonOf(request))
				wantEnd(t, derived, nil, nil)
				<-own.Done()
				wantEnd(t, own, context.DeadlineExceeded, context.DeadlineExceeded)
				f.Leave(err, errWhy)
				synctest.Wait()
				f.End(context.Canceled, errTooLate)
				f.Finish()
				late, cancel := context.WithCancel(f)
				defer cancel()
				for _, ctx := range []context.Context{f, derived, late} {
					wantEnd(t, ctx, err, errWhy)
				}
				wantEnd(t, inner, nil, nil)
				if !joined || f.Join() || f.Awaited() || f.Value(key{}) != 7 || inner.Value(key{}) != 7 {
					t.Error("one may join only after the end, or the values are lost")
				}
				inner.RunInBackground()
				if inner.Awaited() || !inner.Join() || !inner.Awaited() {
					t.Error("a load in the background is not like one that has no caller, and then one")
				}
				inner.Leave(err, errTooLate)
				wantEnd(t, inner, nil, nil)
				inner.End(err, errWhy)
				wantEnd(t, inner, err, errWhy)
			})
		}
	}
}

// TestAwait checks why a caller waits no longer, with and without a time-out.
func TestAwait(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r, f, landed := newRules(0, timeout), new(Flight), make(chan struct{})
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errWhy) })
			time.AfterFunc(time.Minute, func() { close(landed) })
			who, plain := r.begin(ctx, f), r.PlainCaller()
			behind := r.Background(ctx)
			if !who.CanLeave() || plain.CanLeave() != (timeout > 0) || behind.CanLeave() != (timeout > 0) {
				t.Error("who can leave?")
			}
			await := func(who *Caller, giveUp <-chan time.Time, want Reason) {
				t.Helper()
				if got := who.Await(f, landed, giveUp); got != want {
					t.Errorf("reason %v with the time-out %v, want %v", got, timeout, want)
				}
			}
			await(who, time.After(time.Millisecond), Impatient)
			await(who, nil, Ended)
			await(&plain, nil, Landed)
			await(&plain, make(chan time.Time), Landed)
			// A context of the user may tell no error though it has ended.
			for ctx, want := range map[context.Context]error{ctx: errWhy, context.Background(): context.Canceled} {
				if err, cause := ReasonOf(ctx); err != context.Canceled || cause != want {
					t.Errorf("left with %v, %v, want the cause %v", err, cause, want)
				}
			}
			f.Finish()
			if time.Sleep(2 * time.Hour); f.IsLate() || context.Cause(f) != context.Canceled {
				t.Errorf("a load that has ended in time: late %v, %v", f.IsLate(), context.Cause(f))
			}
		})
	}
}

// TestTimeout checks that callers leave a load at its time-out, unless it lands just then, and that
// a caller waits no longer than that for several loads.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, first, second, landed, began := newRules(0, time.Minute), new(Flight), new(Flight), make(chan struct{}), time.Now()
		await := func(who *Caller, f *Flight, want Reason, after time.Duration) {
			t.Helper()
			if got, took := who.Await(f, landed, nil), time.Since(began); got != want || took != after {
				t.Errorf("reason %v after %v, want %v after %v", got, took, want, after)
			}
		}
		leader, follower := r.begin(t.Context(), first), r.CallerOf(t.Context())
		time.Sleep(40 * time.Second)
		await(&follower, first, TimedOut, time.Minute)
		wantEnd(t, first, context.DeadlineExceeded, errTooLate)
		if first.Join() || !first.IsLate() {
			t.Error("one may join a load that is late")
		}
		r.begin(t.Context(), second)
		await(&follower, second, TimedOut, 100*time.Second)
		await(&follower, second, TimedOut, 100*time.Second)
		wantEnd(t, second, nil, nil)
		close(landed)
		for range 100 { // select picks any
			await(leader, first, Landed, 100*time.Second)
			await(&follower, second, Landed, 100*time.Second)
		}
	})
}

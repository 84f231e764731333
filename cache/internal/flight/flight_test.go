package flight

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errTooLate, errWhy = errors.New("too late"), errors.New("why")

// An observed has what an Observer was told.
type observed struct {
	mu                  sync.Mutex
	timedOut, permitted []time.Duration
}

func (o *observed) TimedOut(after time.Duration) { o.note(&o.timedOut, after) }
func (o *observed) Queued(wait time.Duration)    { o.note(&o.permitted, wait) }

func (o *observed) note(all *[]time.Duration, d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*all = append(*all, d)
}

func newRules(most int, timeout time.Duration) *Rules {
	r := new(Rules)
	r.Init(most, timeout, errTooLate, new(observed))
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
	for err, timeout := range map[error]time.Duration{context.Canceled: 0, context.DeadlineExceeded: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			r, f, inner, began := newRules(0, timeout), new(Flight), new(Flight), time.Now()
			request, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, 7), time.Second)
			defer cancel()
			r.begin(nosy{request, f}, f)
			own, cancel := context.WithTimeout(f, 2*time.Second)
			defer cancel()
			derived, cancel := context.WithCancel(f)
			defer cancel()
			who := r.begin(derived, inner)
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
			f.Finish()
			late, cancel := context.WithCancel(f)
			defer cancel()
			for _, ctx := range []context.Context{f, derived, late} {
				wantEnd(t, ctx, err, errWhy)
			}
			wantEnd(t, inner, nil, nil)
			if !slices.Equal(who.Inside, []*Flight{f}) || !joined || f.Join() || f.Awaited() || f.Value(key{}) != 7 || inner.Value(key{}) != 7 {
				t.Error("the outer load is not found, or may be joined only after the end, or the values are lost")
			}
			inner.RunInBackground(nil)
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

// TestAwait checks why a caller waits no longer, with and without a time-out.
func TestAwait(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r, f, landed := newRules(0, timeout), new(Flight), make(chan struct{})
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errWhy) })
			time.AfterFunc(time.Minute, func() { close(landed) })
			who, plain, behind := r.begin(ctx, f), r.PlainCaller(), r.Background(ctx)
			got := []Reason{who.Await(f, landed, time.After(time.Millisecond)), who.Await(f, landed, nil),
				plain.Await(f, landed, nil), plain.Await(f, landed, make(chan time.Time))}
			can := []bool{who.CanLeave(), plain.CanLeave(), behind.CanLeave()}
			if late := timeout > 0; !slices.Equal(got, []Reason{Impatient, Ended, Landed, Landed}) || !slices.Equal(can, []bool{true, late, late}) {
				t.Errorf("reasons %v with the time-out %v; can leave: %v", got, timeout, can)
			}
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
		leader, follower := r.begin(t.Context(), first), r.CallerOf(t.Context())
		time.Sleep(40 * time.Second)
		left := []Reason{follower.Await(first, landed, nil)}
		wantEnd(t, first, context.DeadlineExceeded, errTooLate)
		r.begin(t.Context(), second)
		left = append(left, follower.Await(second, landed, nil), follower.Await(second, landed, nil))
		if took := time.Since(began); took != 100*time.Second || !slices.Equal(left, []Reason{TimedOut, TimedOut, TimedOut}) || first.Join() || !first.IsLate() {
			t.Errorf("reasons %v, the last after %v, or one may join a load that is late", left, took)
		}
		wantEnd(t, second, nil, nil)
		close(landed)
		for range 100 { // select picks any
			if leader.Await(first, landed, nil) != Landed || follower.Await(second, landed, nil) != Landed {
				t.Fatal("a load that has landed is late")
			}
		}
	})
}

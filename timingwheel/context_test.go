package timingwheel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"golang.org/x/sync/errgroup"
)

var (
	errTooLong = errors.New("it took too long")
	errParent  = errors.New("the parent ended")
)

// ctxMake makes contexts: those of the wheel, or those of package context.
type ctxMake struct {
	name              string
	withTimeout       func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	withTimeoutCause  func(context.Context, time.Duration, error) (context.Context, context.CancelFunc)
	withDeadline      func(context.Context, time.Time) (context.Context, context.CancelFunc)
	withDeadlineCause func(context.Context, time.Time, error) (context.Context, context.CancelFunc)
}

func ctxMakes(t *Timers) []ctxMake {
	return []ctxMake{
		{"context", context.WithTimeout, context.WithTimeoutCause, context.WithDeadline, context.WithDeadlineCause},
		{"wheel", t.WithTimeout, t.WithTimeoutCause, t.WithDeadline, t.WithDeadlineCause},
	}
}

// ctxSay says all that a context shows.
func ctxSay(ctx context.Context, start time.Time) string {
	done := "open"
	select {
	case <-ctx.Done():
		done = "closed"
	default:
	}
	at, ok := ctx.Deadline()
	deadline := "none"
	if ok {
		deadline = at.Sub(start).String()
	}
	return fmt.Sprintf("Done %s, Err %v, Cause %v, Deadline %s", done, ctx.Err(), context.Cause(ctx), deadline)
}

// A customContext is a context of the user's own make.
type customContext struct {
	context.Context
	done chan struct{}
	mu   sync.Mutex
	err  error
}

func newCustomContext() *customContext {
	return &customContext{Context: context.WithValue(context.Background(), ctxKey(1), "custom"), done: make(chan struct{})}
}

func (c *customContext) Done() <-chan struct{} { return c.done }

func (c *customContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *customContext) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	close(c.done)
}

type ctxKey int

// ctxWrap is a context around another, as libraries make them.
type ctxWrap struct{ context.Context }

// ctxCases play something with contexts and say what they saw. A mark is what
// was seen at a moment; the two kinds of contexts must have seen the same.
var ctxCases = map[string]func(m ctxMake, say func(context.Context)){
	"WithTimeout ends in time": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withTimeout(context.Background(), 20*ms)
		defer cancel()
		say(ctx)
		time.Sleep(10 * ms)
		say(ctx)
		time.Sleep(10 * ms)
		say(ctx)
		cancel()
		cancel()
		say(ctx)
	},
	"WithTimeoutCause ends in time": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withTimeoutCause(context.Background(), 20*ms, errTooLong)
		defer cancel()
		time.Sleep(20 * ms)
		say(ctx)
		cancel()
		say(ctx)
	},
	"WithDeadline ends in time": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withDeadline(context.Background(), time.Now().Add(20*ms))
		defer cancel()
		<-ctx.Done()
		say(ctx)
	},
	"WithDeadlineCause ends in time": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withDeadlineCause(context.Background(), time.Now().Add(20*ms).Round(0), errTooLong)
		defer cancel()
		<-ctx.Done()
		say(ctx)
	},
	"cancelled": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withTimeoutCause(context.Background(), 20*ms, errTooLong)
		cancel()
		say(ctx)
		cancel()
		say(ctx)
		time.Sleep(time.Second)
		say(ctx)
	},
	"cancelled later": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withTimeout(context.Background(), 20*ms)
		time.Sleep(10 * ms)
		cancel()
		say(ctx)
	},
	"a deadline that has passed": func(m ctxMake, say func(context.Context)) {
		for _, d := range []time.Duration{0, -1, -time.Hour, -1 << 63} {
			ctx, cancel := m.withTimeout(context.Background(), d)
			say(ctx)
			cancel()
			say(ctx)
			ctx, cancel = m.withTimeoutCause(context.Background(), d, errTooLong)
			say(ctx)
			cancel()
			ctx, cancel = m.withDeadline(context.Background(), time.Now().Add(d))
			say(ctx)
			cancel()
		}
		ctx, cancel := m.withDeadlineCause(context.Background(), time.Time{}, errTooLong)
		say(ctx)
		cancel()
	},
	"a deadline that has passed, parent has ended": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancelCause(context.Background())
		end(errParent)
		ctx, cancel := m.withTimeoutCause(parent, -1, errTooLong)
		say(ctx)
		cancel()
	},
	"the last deadline there is": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withTimeout(context.Background(), 1<<63-1)
		say(ctx)
		time.Sleep(10 * time.Hour)
		say(ctx)
		cancel()
		say(ctx)
		ctx, cancel = m.withDeadline(context.Background(), time.Now().AddDate(5000, 0, 0))
		say(ctx)
		cancel()
		say(ctx)
	},
	"parent's deadline is earlier": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithTimeoutCause(context.Background(), 20*ms, errParent)
		defer end()
		ctx, cancel := m.withTimeoutCause(parent, 30*ms, errTooLong)
		defer cancel()
		say(ctx)
		time.Sleep(20 * ms)
		say(ctx)
		cancel()
		say(ctx)
	},
	"parent's deadline is earlier, cancelled": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithTimeoutCause(context.Background(), 20*ms, errParent)
		defer end()
		ctx, cancel := m.withTimeout(parent, 30*ms)
		cancel()
		say(ctx)
		say(parent)
	},
	"parent's deadline is later": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithTimeoutCause(context.Background(), 30*ms, errParent)
		defer end()
		ctx, cancel := m.withTimeoutCause(parent, 20*ms, errTooLong)
		defer cancel()
		say(ctx)
		time.Sleep(20 * ms)
		say(ctx)
		say(parent)
		time.Sleep(20 * ms)
		say(ctx)
		say(parent)
	},
	"parent's deadline is the same": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithTimeout(context.Background(), 20*ms)
		defer end()
		at, _ := parent.Deadline()
		ctx, cancel := m.withDeadline(parent, at)
		defer cancel()
		time.Sleep(30 * ms)
		say(ctx)
	},
	"parent has ended": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancelCause(context.Background())
		end(errParent)
		ctx, cancel := m.withTimeoutCause(parent, time.Hour, errTooLong)
		say(ctx)
		cancel()
		say(ctx)
	},
	"parent has run out of time": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithTimeoutCause(context.Background(), -1, errParent)
		defer end()
		ctx, cancel := m.withTimeout(parent, time.Hour)
		say(ctx)
		cancel()
		ctx, cancel = m.withTimeout(parent, -2*time.Hour)
		say(ctx)
		cancel()
	},
	"parent ends": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancelCause(context.Background())
		ctx, cancel := m.withTimeoutCause(parent, time.Hour, errTooLong)
		defer cancel()
		say(ctx)
		time.Sleep(10 * ms)
		end(errParent)
		say(ctx)
		cancel()
		say(ctx)
		time.Sleep(2 * time.Hour)
		say(ctx)
	},
	"parent ends, without a cause": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancel(context.Background())
		ctx, cancel := m.withTimeout(parent, time.Hour)
		defer cancel()
		end()
		say(ctx)
	},
	"parent ends, then cancelled": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancelCause(context.Background())
		ctx, cancel := m.withTimeoutCause(parent, time.Hour, errTooLong)
		end(errParent)
		cancel()
		say(ctx)
	},
	"parent runs out of time, then cancelled": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancelCause(context.Background())
		parent = ctxWrap{parent}
		ctx, cancel := m.withTimeout(parent, time.Hour)
		end(context.DeadlineExceeded)
		cancel()
		say(ctx)
	},
	"cancelled, then parent ends": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancelCause(context.Background())
		ctx, cancel := m.withTimeout(parent, time.Hour)
		cancel()
		end(errParent)
		say(ctx)
		time.Sleep(2 * time.Hour)
		say(ctx)
	},
	"in time, then parent ends": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancelCause(context.Background())
		ctx, cancel := m.withTimeoutCause(parent, 10*ms, errTooLong)
		defer cancel()
		time.Sleep(10 * ms)
		synctest.Wait()
		end(errParent)
		say(ctx)
		time.Sleep(10 * ms)
		say(ctx)
	},
	"in time, looked at for the first time after parent ended": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancelCause(context.Background())
		ctx, cancel := m.withTimeout(parent, 10*ms)
		defer cancel()
		time.Sleep(25 * ms)
		end(errParent)
		time.Sleep(25 * ms)
		say(ctx)
	},
	"children in time": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withTimeoutCause(context.Background(), 20*ms, errTooLong)
		defer cancel()
		a, cancelA := context.WithCancel(ctx)
		defer cancelA()
		b, cancelB := context.WithCancelCause(context.WithValue(ctx, ctxKey(1), 1))
		defer cancelB(nil)
		c, cancelC := context.WithTimeout(ctx, time.Hour)
		defer cancelC()
		d, cancelD := context.WithTimeout(ctx, 10*ms)
		defer cancelD()
		e, cancelE := context.WithCancel(ctxWrap{ctx})
		defer cancelE()
		f := context.WithoutCancel(ctx)
		g, cancelG := context.WithCancel(f)
		defer cancelG()
		all := []context.Context{ctx, a, b, c, d, e, f, g}
		for range 4 {
			for _, ctx := range all {
				say(ctx)
			}
			time.Sleep(10 * ms)
		}
	},
	"children cancelled": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withTimeoutCause(context.Background(), 20*ms, errTooLong)
		a, cancelA := context.WithCancel(ctx)
		defer cancelA()
		b, cancelB := context.WithCancelCause(context.WithValue(ctx, ctxKey(1), 1))
		cancelB(errParent)
		c, cancelC := context.WithTimeoutCause(ctx, time.Hour, errParent)
		defer cancelC()
		cancel()
		for _, ctx := range []context.Context{ctx, a, b, c} {
			say(ctx) // at once
		}
		d, cancelD := context.WithCancel(ctx)
		say(d)
		cancelD()
	},
	"children, parent ends": func(m ctxMake, say func(context.Context)) {
		parent, end := context.WithCancelCause(context.Background())
		ctx, cancel := m.withTimeoutCause(parent, 20*ms, errTooLong)
		defer cancel()
		a, cancelA := context.WithCancel(ctx)
		defer cancelA()
		b, cancelB := context.WithTimeout(context.WithValue(ctx, ctxKey(1), 1), time.Hour)
		defer cancelB()
		end(errParent)
		time.Sleep(time.Nanosecond)
		for _, ctx := range []context.Context{a, b, ctx} {
			say(ctx)
		}
	},
	"one below the other": func(m ctxMake, say func(context.Context)) {
		a, cancelA := m.withTimeoutCause(context.Background(), 40*ms, errParent)
		defer cancelA()
		b, cancelB := m.withTimeoutCause(a, 20*ms, errTooLong)
		defer cancelB()
		c, cancelC := m.withTimeoutCause(b, time.Hour, errTooLong) // b ends sooner
		defer cancelC()
		d, cancelD := m.withTimeoutCause(context.WithValue(a, ctxKey(1), 1), 30*ms, errTooLong)
		defer cancelD()
		for range 6 {
			for _, ctx := range []context.Context{d, c, b, a} {
				say(ctx)
			}
			time.Sleep(10 * ms)
			synctest.Wait()
		}
	},
	"one below the other, the upper is cancelled": func(m ctxMake, say func(context.Context)) {
		a, cancelA := m.withTimeoutCause(context.Background(), 40*ms, errParent)
		b, cancelB := m.withTimeoutCause(a, 20*ms, errTooLong)
		defer cancelB()
		c, cancelC := m.withTimeoutCause(b, 10*ms, errTooLong)
		defer cancelC()
		cancelA()
		for _, ctx := range []context.Context{c, b, a} {
			say(ctx)
		}
	},
	"AfterFunc": func(m ctxMake, say func(context.Context)) {
		ctx, cancel := m.withTimeoutCause(context.Background(), 20*ms, errTooLong)
		defer cancel()
		note := func(what string, v any) { say(context.WithValue(context.Background(), ctxKey(0), fmt.Sprint(what, v))) }
		start := time.Now()
		var at, never atomic.Int64
		stopA := context.AfterFunc(ctx, func() { at.Store(int64(time.Since(start))) })
		stopB := context.AfterFunc(ctx, func() { never.Add(1) })
		note("stop b", stopB())
		note("stop b again", stopB())
		time.Sleep(30 * ms)
		synctest.Wait()
		note("stop a", stopA())
		note("a at", time.Duration(at.Load()))
		note("b", never.Load())
		var now atomic.Bool
		stopC := context.AfterFunc(ctx, func() { now.Store(true) })
		synctest.Wait()
		note("c", now.Load())
		note("stop c", stopC())
	},
	"values": func(m ctxMake, say func(context.Context)) {
		parent := context.WithValue(context.Background(), ctxKey(0), "value")
		ctx, cancel := m.withTimeout(parent, 20*ms)
		child := context.WithValue(ctx, ctxKey(1), "other")
		say(context.WithValue(context.Background(), ctxKey(0), fmt.Sprint(ctx.Value(ctxKey(0)), ctx.Value(ctxKey(1)), child.Value(ctxKey(0)), child.Value(ctxKey(1)), context.WithoutCancel(ctx).Value(ctxKey(0)))))
		cancel()
		say(context.WithValue(context.Background(), ctxKey(0), fmt.Sprint(ctx.Value(ctxKey(0)), ctx.Value(ctxKey(1)), child.Value(ctxKey(0)))))
		ctx, cancel = m.withTimeout(parent, -1)
		defer cancel()
		say(context.WithValue(context.Background(), ctxKey(0), fmt.Sprint(ctx.Value(ctxKey(0)), ctx.Value(ctxKey(1)))))
	},
	"parent of another make": func(m ctxMake, say func(context.Context)) {
		parent := newCustomContext()
		ctx, cancel := m.withTimeoutCause(parent, 20*ms, errTooLong)
		defer cancel()
		child, cancelChild := context.WithCancel(ctx)
		defer cancelChild()
		say(ctx)
		parent.end(errParent)
		synctest.Wait()
		say(ctx)
		say(child)
		after, cancelAfter := m.withTimeout(parent, time.Hour)
		defer cancelAfter()
		say(after)
	},
	"parent of another make, in time": func(m ctxMake, say func(context.Context)) {
		parent := newCustomContext()
		ctx, cancel := m.withTimeoutCause(parent, 20*ms, errTooLong)
		defer cancel()
		child, cancelChild := context.WithCancel(ctx)
		defer cancelChild()
		time.Sleep(20 * ms)
		synctest.Wait()
		say(ctx)
		say(child)
		parent.end(errParent)
		synctest.Wait()
		say(ctx)
	},
	"parent is a wrapper": func(m ctxMake, say func(context.Context)) {
		inner, end := context.WithCancelCause(context.Background())
		ctx, cancel := m.withTimeoutCause(ctxWrap{inner}, 20*ms, errTooLong)
		defer cancel()
		end(errParent)
		synctest.Wait()
		say(ctx)
	},
	"parent never ends": func(m ctxMake, say func(context.Context)) {
		inner, end := context.WithCancelCause(context.Background())
		ctx, cancel := m.withTimeoutCause(context.WithoutCancel(inner), 20*ms, errTooLong)
		defer cancel()
		end(errParent)
		synctest.Wait()
		say(ctx)
		time.Sleep(20 * ms)
		say(ctx)
	},
}

// TestContextAgainstContext plays the same to contexts of the wheel and to those
// of package context, on ticks, and compares all that they show.
func TestContextAgainstContext(t *testing.T) {
	for name, play := range ctxCases {
		t.Run(name, func(t *testing.T) {
			var seen [2][]string
			for i := range seen {
				synctest.Test(t, func(t *testing.T) {
					timers := mustTimers(t, 10*ms, 8)
					start := time.Now()
					play(ctxMakes(timers)[i], func(ctx context.Context) {
						// A tick and the end of a context are at the same moment.
						// But what is seen at once is seen without a pause.
						if time.Since(start)%(10*ms) == 0 && time.Since(start) > 0 {
							synctest.Wait()
						}
						s := fmt.Sprintf("%v: %s", time.Since(start), ctxSay(ctx, start))
						if v, ok := ctx.Value(ctxKey(0)).(string); ok {
							s += " " + v
						}
						seen[i] = append(seen[i], s)
					})
					synctest.Wait()
					if n := timers.Len(); n != 0 {
						t.Errorf("%d timers left behind", n)
					}
				})
			}
			want, got := strings.Join(seen[0], "\n"), strings.Join(seen[1], "\n")
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestContextsAreAtMostATickLate makes contexts off the ticks.
func TestContextsAreAtMostATickLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		time.Sleep(3 * ms)
		start := time.Now()
		for _, test := range []struct{ d, want time.Duration }{
			{1, 7 * ms}, {7 * ms, 7 * ms}, {7*ms + 1, 17 * ms}, {100 * ms, 107 * ms}, {7 * time.Second, 7*time.Second + 7*ms},
		} {
			ctx, cancel := timers.WithTimeout(t.Context(), test.d)
			context.AfterFunc(ctx, func() {
				if got := time.Since(start); got != test.want || ctx.Err() != context.DeadlineExceeded {
					t.Errorf("%v: ended after %v with %v, want %v", test.d, got, ctx.Err(), test.want)
				}
				cancel()
			})
		}
		time.Sleep(10 * time.Second)
	})
}

// TestContextNilParent panics as package context does.
func TestContextNilParent(t *testing.T) {
	timers := mustTimers(t, 10*ms, 8)
	for _, m := range ctxMakes(timers) {
		wantPanic(t, m.name+": WithTimeout", func() { m.withTimeout(nil, time.Hour) })
		wantPanic(t, m.name+": WithDeadlineCause", func() { m.withDeadlineCause(nil, time.Time{}, nil) })
	}
}

// TestContextEndsAtOnceWithParent looks at Err and Done right after the cancel
// function of the parent has returned.
func TestContextEndsAtOnceWithParent(t *testing.T) {
	timers := mustTimers(t, 10*ms, 8)
	for i := range 1000 {
		parent, end := context.WithCancelCause(context.Background())
		ctx, cancel := timers.WithTimeout(parent, time.Hour)
		middle := context.WithValue(ctx, ctxKey(1), 1)
		below, cancelBelow := timers.WithTimeout(middle, time.Minute)
		end(errParent)
		switch i % 4 {
		case 0:
			if err := below.Err(); err != context.Canceled {
				t.Fatalf("Err: %v", err)
			}
		case 1:
			select {
			case <-below.Done():
			default:
				t.Fatal("Done is open")
			}
		case 2:
			child, cancelChild := context.WithCancel(middle)
			if err := child.Err(); err != context.Canceled {
				t.Fatalf("Err of a new child: %v", err)
			}
			cancelChild()
		case 3:
			again, cancelAgain := timers.WithTimeout(below, time.Second)
			if err := again.Err(); err != context.Canceled {
				t.Fatalf("Err of a new context: %v", err)
			}
			cancelAgain()
		}
		// Before Go 1.26 Cause does not ask Err first.
		if err, got := below.Err(), context.Cause(below); err != context.Canceled || got != errParent {
			t.Fatalf("Err %v, Cause %v", err, got)
		}
		cancelBelow()
		cancel()
	}
	if n := timers.Len(); n != 0 {
		t.Errorf("Len: %d", n)
	}
}

// TestContextGoroutines has many contexts wait, with all kinds of children.
func TestContextGoroutines(t *testing.T) {
	const n = 10_000
	timers := mustTimers(t, time.Hour, 64)
	parent, end := context.WithCancelCause(context.Background())
	before := runtime.NumGoroutine()
	last := make([]context.Context, 0, 3*n)
	var cancels []func()
	for range n {
		ctx, cancel := timers.WithTimeout(context.WithValue(parent, ctxKey(1), 1), time.Hour)
		a, cancelA := context.WithCancel(ctx)
		b, cancelB := context.WithTimeout(context.WithValue(ctx, ctxKey(1), 1), 2*time.Hour)
		c, cancelC := timers.WithTimeout(context.WithValue(b, ctxKey(2), 1), time.Minute)
		last = append(last, a, b, c)
		cancels = append(cancels, cancelC, cancelB, cancelA, cancel)
	}
	if got := runtime.NumGoroutine(); got > before+10 {
		t.Errorf("%d goroutines, %d before", got, before)
	}
	if got := timers.Len(); got != 2*n {
		t.Errorf("Len: %d, want %d", got, 2*n)
	}
	end(errParent)
	for _, ctx := range last {
		<-ctx.Done()
		if got := context.Cause(ctx); got != errParent {
			t.Fatalf("Cause: %v", got)
		}
	}
	for _, cancel := range cancels {
		cancel()
	}
	for deadline := time.Now().Add(10 * time.Second); timers.Len() > 0 || runtime.NumGoroutine() > before+2; time.Sleep(ms) {
		if time.Now().After(deadline) {
			t.Fatalf("%d timers and %d goroutines are left", timers.Len(), runtime.NumGoroutine())
		}
	}
}

// TestContextIsReleased ends contexts in all the ways there are, below a parent
// that lives on. Nothing must keep them.
func TestContextIsReleased(t *testing.T) {
	type big [1 << 10]int
	timers := mustTimers(t, ms, 8)
	stopped := mustTimers(t, ms, 8)
	stopped.Stop()
	for name, play := range map[string]func(parent context.Context){
		"cancelled": func(parent context.Context) {
			_, cancel := timers.WithTimeout(parent, time.Hour)
			cancel()
		},
		"cancelled, with children": func(parent context.Context) {
			ctx, cancel := timers.WithTimeout(parent, time.Hour)
			_, cancelA := context.WithCancel(ctx)
			_, cancelB := timers.WithTimeout(ctx, time.Minute)
			cancel()
			cancelA()
			cancelB()
		},
		"in time": func(parent context.Context) {
			ctx, cancel := timers.WithTimeout(parent, ms)
			<-ctx.Done()
			_ = cancel
		},
		"made after Stop, in time": func(parent context.Context) {
			ctx, cancel := stopped.WithTimeout(parent, ms)
			<-ctx.Done()
			_ = cancel
		},
		"made after Stop, cancelled": func(parent context.Context) {
			_, cancel := stopped.WithTimeout(parent, time.Hour)
			cancel()
		},
		"Stop, then cancelled": func(parent context.Context) {
			timers := mustTimers(t, ms, 8)
			_, cancel := timers.WithTimeout(parent, time.Hour)
			timers.Stop()
			cancel()
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent, end := context.WithCancel(context.Background())
			defer end()
			var ref weak.Pointer[big]
			func() {
				p := new(big)
				ref = weak.Make(p)
				play(context.WithValue(parent, ctxKey(1), p))
			}()
			for deadline := time.Now().Add(time.Second / 2); ref.Value() != nil; time.Sleep(ms) {
				runtime.GC()
				if time.Now().After(deadline) {
					t.Fatal("it is still there")
				}
			}
		})
	}
	if n := timers.Len(); n != 0 {
		t.Errorf("Len: %d", n)
	}
}

// TestContextsEndAfterStop stops the wheel below contexts that wait.
func TestContextsEndAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		start := time.Now()
		var ended sync.Map
		watch := func(name string, ctx context.Context, cancel context.CancelFunc) context.CancelFunc {
			context.AfterFunc(ctx, func() {
				ended.Store(name, fmt.Sprint(time.Since(start), ctx.Err(), context.Cause(ctx)))
			})
			return cancel
		}
		watch1 := func(name string, f func() (context.Context, context.CancelFunc)) context.CancelFunc {
			ctx, cancel := f()
			return watch(name, ctx, cancel)
		}
		parent, end := context.WithCancelCause(t.Context())
		before := func() (context.Context, context.CancelFunc) {
			return timers.WithTimeoutCause(context.Background(), 25*ms, errTooLong)
		}
		defer watch1("before, in time", before)()
		cancel := watch1("before, cancelled", before)
		defer watch1("before, parent ends", func() (context.Context, context.CancelFunc) { return timers.WithTimeout(parent, time.Hour) })()
		time.Sleep(5 * ms)
		timers.Stop()
		defer watch1("after, in time", before)()
		cancelAfter := watch1("after, cancelled", before)
		defer watch1("after, parent ends", func() (context.Context, context.CancelFunc) { return timers.WithTimeout(parent, time.Hour) })()
		defer watch1("after, at once", func() (context.Context, context.CancelFunc) { return timers.WithTimeout(parent, 0) })()
		time.Sleep(5 * ms)
		cancel()
		cancelAfter()
		time.Sleep(90 * ms)
		end(errParent)
		synctest.Wait()
		for name, want := range map[string]string{
			"before, in time":     fmt.Sprint(25*ms, context.DeadlineExceeded, errTooLong),
			"before, cancelled":   fmt.Sprint(10*ms, context.Canceled, context.Canceled),
			"before, parent ends": fmt.Sprint(100*ms, context.Canceled, errParent),
			"after, in time":      fmt.Sprint(30*ms, context.DeadlineExceeded, errTooLong),
			"after, cancelled":    fmt.Sprint(10*ms, context.Canceled, context.Canceled),
			"after, parent ends":  fmt.Sprint(100*ms, context.Canceled, errParent),
			"after, at once":      fmt.Sprint(5*ms, context.DeadlineExceeded, context.DeadlineExceeded),
		} {
			if got, _ := ended.Load(name); got != want {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
	})
}

// TestContextRaces ends contexts in several ways at once: whoever is first, Err
// and Cause fit each other, all see the same, and nothing is left behind.
func TestContextRaces(t *testing.T) {
	timers := mustTimers(t, minInterval, 8)
	for i := range 2000 {
		parent, end := context.WithCancelCause(context.Background())
		ctx, cancel := timers.WithTimeoutCause(parent, time.Duration(i%7)*minInterval/2, errTooLong)
		child, cancelChild := context.WithCancel(context.WithValue(ctx, ctxKey(1), 1))
		below, cancelBelow := timers.WithTimeout(child, time.Hour)
		var wg sync.WaitGroup
		wg.Go(func() { end(errParent) })
		wg.Go(func() { cancel() })
		wg.Go(func() {
			<-ctx.Done()
			if ctx.Err() == nil || context.Cause(ctx) == nil {
				t.Error("ended without an error")
			}
		})
		wg.Go(func() {
			if err := below.Err(); err != nil && ctx.Err() == nil {
				t.Error("the child ended before its parent")
			}
		})
		wg.Go(func() { <-below.Done() })
		wg.Wait()
		err, cause := ctx.Err(), context.Cause(ctx)
		fits := err == context.DeadlineExceeded && cause == errTooLong ||
			err == context.Canceled && (cause == errParent || cause == context.Canceled)
		if !fits {
			t.Fatalf("Err %v, Cause %v", err, cause)
		}
		for _, ctx := range []context.Context{child, below} {
			if ctx.Err() != err || context.Cause(ctx) != cause {
				t.Fatalf("Err %v, Cause %v; of a child %v, %v", err, cause, ctx.Err(), context.Cause(ctx))
			}
		}
		cancelBelow()
		cancelChild()
	}
	for deadline := time.Now().Add(10 * time.Second); timers.Len() > 0; time.Sleep(ms) {
		if time.Now().After(deadline) {
			t.Fatalf("%d timers are left", timers.Len())
		}
	}
}

// TestContextErrgroup puts an errgroup on top.
func TestContextErrgroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, 10*ms, 8)
		ctx, cancel := timers.WithTimeoutCause(t.Context(), 25*ms, errTooLong)
		defer cancel()
		start := time.Now()
		g, inner := errgroup.WithContext(ctx)
		for range 10 {
			g.Go(func() error {
				<-inner.Done()
				return context.Cause(inner)
			})
		}
		if err := g.Wait(); err != errTooLong {
			t.Errorf("got %v", err)
		}
		if got := time.Since(start); got != 30*ms {
			t.Errorf("took %v", got)
		}
		g, inner = errgroup.WithContext(ctx)
		g.Go(func() error { <-inner.Done(); return nil })
		if err := g.Wait(); err != nil || inner.Err() != context.DeadlineExceeded {
			t.Errorf("got %v, Err %v", err, inner.Err())
		}
	})
}

// TestContextIsPrintable prints contexts while they end, as loggers do. Those of
// package context say how they were made, and nothing that changes.
func TestContextIsPrintable(t *testing.T) {
	timers := mustTimers(t, minInterval, 8)
	parent := context.WithValue(context.Background(), ctxKey(1), "a secret")
	ctx, cancel := timers.WithTimeout(parent, time.Hour)
	defer cancel()
	child, cancelChild := context.WithCancel(ctx)
	defer cancelChild()
	for _, ctx := range []context.Context{ctx, child} {
		if s := fmt.Sprint(ctx); strings.ContainsAny(s, "{&") {
			t.Fatalf("it prints its insides, which others change meanwhile: %.80s", s)
		}
	}
	for range 20 {
		ctx, cancel := timers.WithTimeout(parent, minInterval)
		for ctx.Err() == nil {
			_ = fmt.Sprint(ctx)
		}
		cancel()
	}
}

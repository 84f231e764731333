package timingwheel

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A foreignContext is a context that is not of package context, and whose methods
// may do anything. That must never keep the wheel from its work.
type foreignContext struct {
	context.Context
	register func() // by AfterFunc
	stop     func() // by the function that AfterFunc returns
}

func (c foreignContext) Done() <-chan struct{} { return make(chan struct{}) }
func (c foreignContext) Value(any) any         { return nil }
func (c foreignContext) AfterFunc(func()) func() bool {
	if c.register != nil {
		c.register()
	}
	return func() bool {
		c.stop()
		return true
	}
}

// A context under it ends in time, and other timers fire, although the parent does
// not let go: by blocking, or by ending the goroutine that asks it to.
func TestContextOfParentThatDoesNotLetGo(t *testing.T) {
	for name, stop := range map[string]func(){
		"Goexit": runtime.Goexit,
		"blocks": func() { time.Sleep(time.Hour) },
	} {
		synctest.Test(t, func(t *testing.T) {
			timers := mustTimers(t, ms, 16)
			start := time.Now()
			ctx, cancel := timers.WithTimeout(foreignContext{Context: context.Background(), stop: stop}, 5*ms)
			defer cancel()
			fired := timers.After(20 * ms)
			<-ctx.Done()
			if got := time.Since(start); got != 5*ms || ctx.Err() != context.DeadlineExceeded {
				t.Errorf("%s: ended after %v with %v", name, got, ctx.Err())
			}
			<-fired
			if got := time.Since(start); got != 20*ms {
				t.Errorf("%s: another timer fired after %v, want 20ms", name, got)
			}
			time.Sleep(2 * time.Hour) // the bubble must end after all its goroutines
		})
	}
}

// Nor does a parent that takes long to be watched delay other timers, though the
// context is to end meanwhile.
func TestContextOfParentThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := mustTimers(t, ms, 16)
		start := time.Now()
		var called atomic.Int64
		timers.AfterFunc(50*ms, func() { called.Store(int64(time.Since(start))) })
		parent := foreignContext{
			Context:  context.Background(),
			register: func() { time.Sleep(time.Second) },
			stop:     func() {},
		}
		ctx, cancel := timers.WithTimeout(parent, 5*ms)
		defer cancel()
		if got := time.Duration(called.Load()); got != 50*ms {
			t.Errorf("a timer of 50ms was called after %v", got)
		}
		if ctx.Err() != context.DeadlineExceeded {
			t.Errorf("Err is %v", ctx.Err())
		}
		if n := timers.Len(); n != 0 {
			t.Errorf("%d timers are left", n)
		}
	})
}

// Contexts that are cancelled while the wheel stops, and their time is just up, end
// one way or the other.
func TestContextsCancelledDuringStop(t *testing.T) {
	for n := range 100 {
		timers, err := NewTimers(ms, 16, WithOnPanic(func(p any, stack []byte) { t.Errorf("%v\n%s", p, stack) }))
		if err != nil {
			t.Fatal(err)
		}
		var cancels []context.CancelFunc
		for range 100 {
			_, cancel := timers.WithTimeout(context.Background(), 2*ms)
			cancels = append(cancels, cancel)
		}
		time.Sleep(2*ms + time.Duration(n%20)*50*time.Microsecond)
		timers.Stop()
		for _, cancel := range cancels {
			cancel()
		}
		for left := 1; left > 0; left = leftBehind(timers) { // those whose time is just up
			runtime.Gosched()
		}
	}
}

// leftBehind returns how many timers of package time there are for contexts of a
// stopped wheel.
func leftBehind(timers *Timers) (n int) {
	for i := range timers.shards {
		s := &timers.shards[i]
		s.mu.Lock()
		n += len(s.left)
		s.mu.Unlock()
	}
	return n
}

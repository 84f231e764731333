package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

const seats = 2048

// timers checks timers by handle.
type timers struct {
	*timingwheel.Timers
	failed *failure
	seats  [seats]seat

	// afterFunc is Timers.AfterFunc; tests replace it by one with a fault.
	afterFunc func(d time.Duration, f func()) *timingwheel.Timer
}

func newTimers(f *failure) *timers {
	t, err := timingwheel.NewTimers(wheelTick, wheelSlots, timingwheel.WithName("handles"), timingwheel.WithWorkers(wheelWorkers))
	if err != nil {
		panic(err)
	}
	return &timers{Timers: t, failed: f, afterFunc: t.AfterFunc}
}

// A seat has one timer after another. mu guards it.
type seat struct {
	mu sync.Mutex
	it handle // nil if the seat is free
}

// A handle is a timer of any kind with its expectations.
type handle interface {
	use(h *hand)                      // does something with it
	check() (over bool, wrong string) // over: it fires no more
}

// operate uses the timer of a seat, or starts one in it.
func (t *timers) operate(h *hand) {
	h.counts[opWheel]++
	s := &t.seats[h.rng.IntN(seats)]
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.it == nil {
		s.it = t.start(h)
		return
	}
	s.it.use(h)
	t.look(s)
}

// look checks the timer of a seat and frees the seat when it is over.
func (t *timers) look(s *seat) (over bool) {
	over, wrong := s.it.check()
	if wrong != "" {
		t.failed.report(violation{Subject: "timers by handle", What: fmt.Sprintf("%T: %s", s.it, wrong)})
	}
	if over {
		s.it = nil
	}
	return over
}

// audit waits until all timers are over.
func (t *timers) audit() {
	for i := range t.seats {
		s := &t.seats[i]
		if s.it == nil {
			continue
		}
		if e, ok := s.it.(*periodic); ok {
			e.stop()
		}
		wrong := eventually(t.failed, func() string {
			if !t.look(s) {
				return fmt.Sprintf("a %T is not over long after it was due", s.it)
			}
			return ""
		})
		if wrong != "" {
			t.failed.report(violation{Subject: "timers by handle", What: wrong})
			return
		}
	}
	if wrong := eventually(t.failed, func() string {
		if n := t.Len(); n > 0 {
			return fmt.Sprintf("%d timers wait, but all are over", n)
		}
		return ""
	}); wrong != "" {
		t.failed.report(violation{Subject: "timers by handle", What: wrong})
	}
}

func (t *timers) start(h *hand) handle {
	d := time.Duration(h.rng.Int64N(int64(longest)))
	began := now()
	switch h.rng.IntN(8) {
	case 0:
		x := &channel{due: began + int64(d)}
		x.timer = t.NewTimer(d)
		return x
	case 1:
		x := &periodic{began: began, count: 1 + h.rng.Int64N(20), interval: d/20 + 1}
		x.timer = t.Repeat(int(x.count), x.interval, x.call)
		return x
	case 2:
		x := &periodic{began: began, interval: d/20 + 1}
		x.timer = t.Every(x.interval, x.call)
		return x
	case 3:
		x := &limited{due: began + int64(d)}
		x.ctx, x.cancel = t.WithTimeout(context.Background(), d)
		return x
	case 4:
		if h.rng.IntN(64) == 0 {
			d /= 200
			if err := t.Sleep(context.Background(), d); err != nil || now() < began+int64(d) {
				t.failed.report(violation{Subject: "timers by handle", What: fmt.Sprintf("Sleep(%v) returned %v after %v", d, err, time.Duration(now()-began))})
			}
		}
	}
	x := &single{expected: 1}
	x.notBefore.Store(began + int64(d))
	x.timer = t.afterFunc(d, x.call)
	return x
}

// A single is a timer of AfterFunc.
type single struct {
	timer     *timingwheel.Timer
	expected  int64 // calls
	calls     atomic.Int64
	notBefore atomic.Int64
	early     atomic.Int64 // by how much a call was too early
	over      atomic.Bool  // no call may come
	late      atomic.Bool  // a call came when over
}

func (x *single) call() {
	if early := x.notBefore.Load() - now(); early > 0 {
		x.early.Store(early)
	}
	if x.over.Load() {
		x.late.Store(true)
	}
	x.calls.Add(1)
}

func (x *single) use(h *hand) {
	switch h.rng.IntN(3) {
	case 0:
		if x.timer.Stop() {
			x.expected--
		}
	case 1:
		d := time.Duration(h.rng.Int64N(int64(longest)))
		due, before := now()+int64(d), x.notBefore.Load()
		x.notBefore.Store(min(before, due))
		if x.timer.Reset(d) {
			x.notBefore.Store(due) // the earlier call will not come
		} else {
			x.expected++
		}
	}
}

func (x *single) check() (over bool, wrong string) {
	calls := x.calls.Load()
	over = calls == x.expected
	x.over.Store(over)
	switch {
	case x.early.Load() > 0:
		wrong = fmt.Sprintf("called %v too early", time.Duration(x.early.Load()))
	case calls > x.expected || x.late.Load():
		wrong = fmt.Sprintf("called %d times, want %d", calls, x.expected)
	}
	return over, wrong
}

// A channel is a timer of NewTimer.
type channel struct {
	timer   *timingwheel.Timer
	due     int64
	stopped bool
}

func (x *channel) use(h *hand) {
	switch h.rng.IntN(4) {
	case 0:
		x.stopped = x.stopped || x.timer.Stop()
	case 1:
		d := time.Duration(h.rng.Int64N(int64(longest)))
		due := now() + int64(d)
		x.timer.Reset(d)
		x.due, x.stopped = due, false
	}
}

func (x *channel) check() (over bool, wrong string) {
	select {
	case <-x.timer.C:
		if x.stopped {
			return true, "the channel had a time after Stop"
		}
		if at := now(); at < x.due {
			return true, fmt.Sprintf("the time came %v too early", time.Duration(x.due-at))
		}
		return true, ""
	default:
		return x.stopped, ""
	}
}

// A periodic is a timer of Every, or of Repeat if it has a count.
type periodic struct {
	timer    *timingwheel.Timer
	count    int64
	interval time.Duration
	began    int64
	calls    atomic.Int64
	running  atomic.Int64
	wrong    atomic.Pointer[string]
	stopped  bool
	atStop   int64 // calls
}

func (x *periodic) call() {
	if x.running.Add(1) > 1 {
		x.fault("two calls at once")
	}
	defer x.running.Add(-1)
	if early := x.began + x.calls.Add(1)*int64(x.interval) - now(); early > 0 {
		x.fault(fmt.Sprintf("a call came %v before its turn", time.Duration(early)))
	}
}

func (x *periodic) fault(what string) { x.wrong.CompareAndSwap(nil, &what) }

func (x *periodic) stop() {
	if !x.stopped {
		x.timer.Stop()
		x.stopped, x.atStop = true, x.calls.Load()
	}
}

func (x *periodic) use(h *hand) {
	if h.rng.IntN(16) == 0 {
		x.stop()
	}
}

func (x *periodic) check() (over bool, wrong string) {
	if p := x.wrong.Load(); p != nil {
		return true, *p
	}
	calls := x.calls.Load()
	switch {
	case x.stopped && calls > x.atStop+1: // one may have begun
		return true, fmt.Sprintf("%d calls after Stop", calls-x.atStop)
	case x.count > 0 && calls > x.count:
		return true, fmt.Sprintf("%d calls, want %d", calls, x.count)
	}
	return x.stopped || x.count > 0 && calls == x.count, ""
}

// A limited is a context with a timeout.
type limited struct {
	ctx       context.Context
	cancel    context.CancelFunc
	due       int64
	cancelled bool
}

func (x *limited) use(h *hand) {
	if h.rng.IntN(8) == 0 {
		x.cancelled = x.cancelled || x.ctx.Err() == nil
		x.cancel()
	}
}

func (x *limited) check() (over bool, wrong string) {
	err := x.ctx.Err()
	switch {
	case err == nil && x.cancelled:
		return true, "the context goes on after cancel"
	case err == nil:
		return false, ""
	case errors.Is(err, context.DeadlineExceeded) && now() < x.due:
		return true, fmt.Sprintf("the context ended %v too early", time.Duration(x.due-now()))
	case errors.Is(err, context.Canceled) && !x.cancelled:
		return true, "the context was cancelled by nobody"
	}
	select {
	case <-x.ctx.Done():
	default:
		return true, "the context has ended, but Done is not closed"
	}
	x.cancel()
	return true, ""
}

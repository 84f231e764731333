package timingwheel

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// WithTimeout is [context.WithTimeout] with a timer of the wheel: the context ends
// with [context.DeadlineExceeded] at most a tick after d has passed. See
// [Timers.WithDeadlineCause].
func (t *Timers) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return t.WithDeadlineCause(parent, time.Now().Add(d), nil)
}

// WithTimeoutCause is [context.WithTimeoutCause] with a timer of the wheel. See
// [Timers.WithDeadlineCause].
func (t *Timers) WithTimeoutCause(parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return t.WithDeadlineCause(parent, time.Now().Add(d), cause)
}

// WithDeadline is [context.WithDeadline] with a timer of the wheel. See
// [Timers.WithDeadlineCause].
func (t *Timers) WithDeadline(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return t.WithDeadlineCause(parent, deadline, nil)
}

// WithDeadlineCause is [context.WithDeadlineCause] with a timer of the wheel. All
// of package context works with what it returns as with its own contexts: causes,
// children, [context.AfterFunc]. No context needs a goroutine while it waits,
// unless parent is of a make that needs one for each of its children.
//
// The one difference is that the end of parent reaches a channel already got from
// Done, and children, by way of a goroutine, and so a moment after the cancel
// function of parent has returned. Err, Done and [context.Cause] know at once.
//
// Contexts made after Stop, and those that wait then, end in time all the same.
func (t *Timers) WithDeadlineCause(parent context.Context, deadline time.Time, cause error) (context.Context, context.CancelFunc) {
	if parent == nil {
		panic("timingwheel: a context needs a parent, as context.Background()")
	}
	if sooner, ok := parent.Deadline(); ok && sooner.Before(deadline) {
		return context.WithCancel(parent)
	}
	c := &deadlineContext{deadline: deadline, source: source{Context: parent, cause: cause}}
	var cancel context.CancelFunc
	c.Context, cancel = context.WithCancel(&c.source)
	c.source.watch(t, deadline)
	return c, func() {
		c.source.follow() // if the parent has ended, that was first
		cancel()
	}
}

// A deadlineContext is a context of package context, so that all of that package
// treats it as its own. Its parent there is not the real one but source, which
// ends it with the error that is right.
type deadlineContext struct {
	context.Context
	source   source
	deadline time.Time
}

func (c *deadlineContext) Deadline() (time.Time, bool) { return c.deadline, true }

// String says what the context is, without looking into it.
func (c *deadlineContext) String() string {
	return fmt.Sprintf("%s.WithDeadline(%s [%s])", nameOf(c.source.Context), c.deadline, time.Until(c.deadline))
}

func nameOf(ctx context.Context) string {
	if s, ok := ctx.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", ctx)
}

func (c *deadlineContext) Done() <-chan struct{} {
	c.source.follow()
	return c.Context.Done()
}

func (c *deadlineContext) Value(key any) any {
	c.source.follow() // context.Cause looks for a value
	return c.Context.Value(key)
}

func (c *deadlineContext) Err() error {
	c.source.follow()
	return c.Context.Err()
}

// A source is the parent of a deadlineContext: it ends when the real parent ends
// or the time is up. It is seen by package context alone, and by nobody once it
// has a child.
type source struct {
	context.Context       // the real parent
	cause           error // of the end in time, or nil

	end   func() // by package context: the child is to take over Err and Cause
	once  sync.Once
	ended atomic.Pointer[ending] // nil before that

	mu       sync.Mutex // guards what follows; never held while the parent is called
	released bool
	timer    *Timer
	forsake  func() bool // no longer look at the real parent
}

// An ending is how a source has ended.
type ending struct {
	err   error
	cause context.Context // one that ended with the cause
}

// never is a channel that nobody closes: the child is ended by AfterFunc.
var never = make(chan struct{})

func (s *source) Done() <-chan struct{} { return never }

func (s *source) Err() error {
	if e := s.ended.Load(); e != nil {
		return e.err
	}
	return nil
}

// Value returns, to context.Cause, a context that ended with the cause: that is
// how it asks for one.
func (s *source) Value(key any) any {
	if e := s.ended.Load(); e != nil {
		if v := e.cause.Value(key); v != nil {
			return v
		}
	}
	return s.Context.Value(key)
}

// AfterFunc is how package context has a parent of another make tell its child.
// It calls it once, when the child is made.
func (s *source) AfterFunc(end func()) (stop func() bool) {
	s.end = end
	return func() bool {
		if forsake := s.release(); forsake != nil {
			forsake()
		}
		return true
	}
}

// watch has the source end with the real parent, and at the deadline.
func (s *source) watch(t *Timers, deadline time.Time) {
	if s.Context.Err() != nil {
		s.follow()
		return
	}
	if time.Until(deadline) <= 0 {
		s.expire()
		return
	}
	timer := t.start(&Timer{f: s.expire, kind: byDriver}, t.at(deadline))
	var forsake func() bool
	if s.Context.Done() != nil {
		forsake = context.AfterFunc(s.Context, s.follow)
	}
	s.mu.Lock()
	released := s.released
	if !released {
		s.timer, s.forsake = timer, forsake
	}
	s.mu.Unlock()
	if !released {
		return
	}
	timer.Stop() // it has ended already
	if forsake != nil {
		forsake()
	}
}

// follow ends the source if the real parent has ended.
func (s *source) follow() {
	if err := s.Context.Err(); err != nil {
		s.finish(err, context.Cause(s.Context))
	}
}

// expire ends the source because its time is up.
func (s *source) expire() {
	cause := s.cause
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	s.finish(context.DeadlineExceeded, cause)
}

// finish ends the source, the first time, and its child. When it returns that has
// happened, whoever was first.
func (s *source) finish(err, cause error) {
	s.once.Do(func() {
		ended, end := context.WithCancelCause(context.Background())
		end(cause)
		s.ended.Store(&ending{err, ended})
		s.end()
		if forsake := s.release(); forsake != nil {
			go forsake() // the parent may be of any make, and this goroutine the driver's
		}
	})
}

// release stops the timer. It returns the function by which watch is to be taken
// off the parent, or nil if that has been done or is not known yet.
func (s *source) release() (forsake func() bool) {
	s.mu.Lock()
	timer, forsake := s.timer, s.forsake
	s.timer, s.forsake = nil, nil
	s.released = true
	s.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	return forsake
}

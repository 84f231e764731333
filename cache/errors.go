// This file has the errors that callers of a load get, and says which loads count as failed.

package cache

import (
	"context"
	"errors"
	"fmt"
)

// ErrGoexit is the error of callers of Take when the fetch that they waited for called
// [runtime.Goexit].
var ErrGoexit = errors.New("cache: fetch called runtime.Goexit")

// A PanicError is the error of callers of Take when the fetch that they waited for
// panicked, and of Restore when decode did. The caller that ran the fetch gets the panic
// itself.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the goroutine that panicked, as by [debug.Stack]
}

func (e *PanicError) Error() string { return fmt.Sprintf("cache: panicked: %v", e.Value) }

// Unwrap returns Value if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrTimeout is the error of a load that takes longer than the option Timeout. Callers of the Takes
// get an error that wraps it and names cache and key; the context of the fetch has it as cause. It
// wraps [context.DeadlineExceeded].
var ErrTimeout error = &timeoutError{}

// A timeoutError is ErrTimeout or, if key is not nil, the error for a key that wraps it.
type timeoutError struct {
	cache string
	key   any
	hash  uint64
}

func (e *timeoutError) Error() string {
	if e.key == nil {
		return "cache: the load took longer than Timeout"
	}
	return fmt.Sprintf("cache %q: the load of %.200s (hash %016x) took longer than Timeout", e.cache, fmt.Sprint(e.key), e.hash)
}

// WithoutKey is Error for the page, as a key may be a secret.
func (e *timeoutError) WithoutKey() string { return (&timeoutError{}).Error() }

func (e *timeoutError) Is(target error) bool { return target == ErrTimeout }

func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// tooLate returns the error of a caller for whom a load takes too long.
func (l *load[K, V]) tooLate() error { return &timeoutError{l.common.loads.cache, l.key, l.hash} }

// isTimeout reports whether an error is a time-out, of a context, a connection or a driver. It asks errors of
// the user, which may panic, such as a nil pointer in err.
func isTimeout(err error) (is bool) {
	defer func() { _ = recover() }()
	var e interface{ Timeout() bool }
	return errors.As(err, &e) && e.Timeout()
}

// ErrNotFound is the error of a load that brought no value and no other error: its function has said
// Gone, or has left the key out of the values of several. Negative may keep it.
var ErrNotFound = errors.New("cache: the load found no value")

// errUnchanged is the error of a load that says Unchanged without an old value.
var errUnchanged = errors.New("cache: a load says Unchanged, but there is no Old: look at HasOld first")

// errOwnKey is the error of a fetch that takes its own key: it would wait for itself.
var errOwnKey = errors.New("cache: a fetch takes the key that it loads, with its own context, and would wait for itself: use Peek, or take another key")

// errOutOfPatience is why a caller leaves after Patience, for a value in Grace.
var errOutOfPatience = errors.New("cache: the caller waits no longer")

// errFetchEnded is the cause of a load's end when its last caller was a TakeMany that panicked
// or called Goexit.
var errFetchEnded = errors.New("cache: the fetch of a TakeMany that waited panicked or called runtime.Goexit")

// failure returns the error of a load that has failed, or nil. An error that Negative keeps
// is an answer, not a failure, unless it is a pause.
func (l *load[K, V]) failure() error {
	if l.keepErr > 0 && !l.pause {
		return nil
	}
	return l.err
}

// isPause reports whether a kept error means that the load has failed. Package near keeps such errors
// for a pause, as its database may be down.
func isPause(err error) bool { return errors.As(err, new(interface{ KeptAsPause() })) }

// counted returns the error by which a load counts as failed, or nil.
func (l *load[K, V]) counted() error {
	if l.NotFound || l.Gone {
		return nil
	}
	return l.failure()
}

// tellFailure reports the panic or Goexit of a load in the background to OnPanic, as no caller gets it.
func (c *Cache[K, V]) tellFailure(err error) {
	if p, ok := err.(*PanicError); ok {
		c.tellPanic(p.Value, p.Stack)
	} else {
		c.tellPanic(err, nil)
	}
}

// tellPanic calls OnPanic. A panic of OnPanic ends here: no caller could recover it.
func (c *Cache[K, V]) tellPanic(recovered any, stack []byte) {
	defer func() { _ = recover() }()
	c.common.observers.onPanic(recovered, stack)
}

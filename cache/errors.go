// This file has the errors that callers of a load get which its fetch did not return.

package cache

import (
	"errors"
	"fmt"
)

// ErrGoexit is the error of callers of Take when the fetch that they waited for called
// [runtime.Goexit].
var ErrGoexit = errors.New("cache: fetch called runtime.Goexit")

// A PanicError is the error of callers of Take when the fetch that they waited for
// panicked. The caller that ran the fetch gets the panic itself.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the goroutine that panicked, as by [debug.Stack]
}

func (e *PanicError) Error() string { return fmt.Sprintf("cache: fetch panicked: %v", e.Value) }

// Unwrap returns the error that fetch panicked with, or nil if that was none.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrTimeout is the error of callers of the Takes, and the cause of the end of the fetch's
// context, when a load takes longer than the option Timeout.
var ErrTimeout = errors.New("cache: the load took longer than Timeout")

// errUnchanged is the error of a load that finds unchanged what is not there.
var errUnchanged = errors.New("cache: the function of TakeWith says Unchanged, but there is no Old: look at HasOld first")

// errOwnKey is the error of a fetch that takes its own key: it would wait for itself.
var errOwnKey = errors.New("cache: a fetch takes the key that it loads, with its own context, and would wait for itself: use Peek, or take another key")

// errOutOfPatience is why a caller leaves when a value in Grace can stand in.
var errOutOfPatience = errors.New("cache: the caller waits no longer")

// errFetchEnded is the cause with which a load ends whose last caller was a TakeMany that
// panicked or called Goexit.
var errFetchEnded = errors.New("cache: the fetch of a TakeMany that waited panicked or called runtime.Goexit")

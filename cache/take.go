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

// Take returns the value of a key, as Get does, or calls fetch for it and stores
// the result. It counts as one hit or one miss.
//
// There is one fetch per key at a time: callers that come while it runs get its result.
// But a fetch never undoes a later change: after a Set, Del, Clear or Compute of the key
// its result goes to the callers it has and is not stored; a caller that comes later waits
// until it has ended, and then fetches anew.
//
// Take returns the error of fetch as it is, and keeps it only if Negative says so. A panic
// or [runtime.Goexit] of fetch ends the caller that ran it in the same way; the others get
// a [PanicError] or [ErrGoexit].
//
// fetch runs in the goroutine of the caller and holds no lock. It may use the
// cache, but not Take the same key, which would wait for itself, or close the
// cache.
func (c *Cache[K, V]) Take(key K, fetch func() (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: fetch of Take is nil: want a function")
	}
	seen := absent
	if c.renews {
		var value V
		if value, seen = c.see(key, false); seen == present {
			return value, nil
		}
	} else if value, ok := c.Get(key); ok {
		return value, nil
	}
	return c.takeSlow(key, seen, fetch)
}

// TakeCtx is [Cache.Take] with a context. When its context ends, a caller returns the
// cause: also the caller that began the fetch, unless its context cannot end. The fetch
// goes on in a goroutine of its own, and its value is still stored. With a context that has
// ended already, TakeCtx begins no fetch.
//
// The context of fetch has the values of the first caller's context and the latest
// deadline of all callers, also of those that join later. It ends when all callers have
// left, with the cause of the last one. A caller without a deadline, such as a plain Take,
// removes the deadline: a fetch that must end, such as a query of a database, needs a
// time-out of its own, or the cache a Timeout.
//
// If a fetch in a goroutine of its own panics, the first caller panics with the same value,
// without the stack of the fetch. If that caller has left, only the other callers get an
// error, and the load counts as failed.
func (c *Cache[K, V]) TakeCtx(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: fetch of TakeCtx is nil: want a function")
	}
	var old V
	seen := absent
	if c.renews {
		if old, seen = c.see(key, true); seen == present {
			return old, nil
		}
	} else if value, ok := c.Get(key); ok {
		return value, nil
	}
	return c.takeSlowCtx(ctx, key, seen, old, func(ctx context.Context, _ *load[K, V]) (V, error) { return fetch(ctx) })
}

package cache

import (
	"context"
	"errors"
	"fmt"
)

// ErrGoexit is what callers of Take get when the fetch that they waited for
// called [runtime.Goexit].
var ErrGoexit = errors.New("cache: fetch called runtime.Goexit")

// A PanicError is what callers of Take get when the fetch that they waited for
// panicked. The caller that ran the fetch gets the panic itself.
type PanicError struct {
	Value any    // what fetch panicked with
	Stack []byte // where, as by [debug.Stack]
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
// There is one fetch per key at a time: callers that come while it runs get its
// result. But a fetch never undoes what happened since it began: after a Set,
// Del, Clear or Compute of the key its result goes to the callers it has, and
// is not stored, and a caller that comes later waits until it has ended and then
// fetches anew.
//
// Take returns the error of fetch as it is and stores nothing, unless Negative says so. A panic or
// [runtime.Goexit] of fetch goes through to the caller that ran it; the others
// get a [PanicError] or [ErrGoexit].
//
// fetch runs in the goroutine of the caller and holds no lock. It may use the
// cache, but not Take the same key, which would wait for itself, or close the
// cache.
func (c *Cache[K, V]) Take(key K, fetch func() (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: Take with a nil fetch")
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
	return c.obtainHere(key, seen, fetch)
}

// TakeCtx is [Cache.Take] with a context. Every caller leaves, with the cause of
// its context, when that ends: also the one that began the fetch, unless its
// context cannot end. The fetch goes on in a goroutine of its own, and what it
// returns is still stored. A context that has ended already begins no fetch.
//
// The context that fetch gets has the values of the first caller's and the latest
// deadline of all its callers, which is later when one with a later deadline joins. It
// ends when all callers have left, with the cause of the last one. A caller without a
// deadline, as any plain Take is, takes the deadline away: a fetch that must end, such
// as one that asks a database, is to have a time-out of its own, or the cache a Timeout.
//
// A panic of a fetch that ran in a goroutine of its own goes on in the first
// caller's, without the stack of the fetch. If that caller has left, it has nobody
// to go to: the other callers get the error, and the load counts as failed.
func (c *Cache[K, V]) TakeCtx(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: TakeCtx with a nil fetch")
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
	return c.obtain(ctx, key, seen, old, func(ctx context.Context, _ *load[K, V]) (V, error) { return fetch(ctx) })
}

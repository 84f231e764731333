// Package runner calls callbacks, on goroutines of its own and a limited number
// at a time. A [Runner] has a queue, and calls one function for each item that
// is pushed to it. A [Pool] has none: its workers fetch what its owner keeps.
//
// The items of a runner carry an order key. Those with the same key are called
// one after another, in the order in which they were pushed; those with
// different keys may be called at the same time. A callback that blocks holds up
// the items of its own key and nobody else's, as long as a worker is free. A
// callback that panics or calls [runtime.Goexit] holds up nothing.
//
// Push never blocks. Back-pressure is a call of its own, [Runner.Wait], so
// that a producer can push under its lock, where the order is decided, and wait
// after it has released it.
//
// A runner or a pool without work has no goroutine. There is nothing to close:
// one that nobody holds is collected once its work is done.
package runner

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// The design.
//
//	        Push                    worker pops
//	          |                          |
//	          v                          v
//	+---+---+---+---+---+        is its key running?
//	| F | E | D | C | B |  --->    no: mark the key, call
//	+---+---+---+---+---+          yes: to the chain of that key
//	        fifo
//	                             running: key 7 -> chain | H | G |
//	                                      key 9 -> none
//
// There is one queue, fifo, and each item leaves it once. Its order key is
// looked at only then: if a callback of the same key is running, the item is
// deferred to that key's chain, and the worker goes on to the next item. The
// worker that ends a callback continues with the head of its key's chain and
// gives the key free when the chain is empty. As every item of the key passes
// through fifo, and then through the chain while the key is running, the order
// holds. It is also fair: an item on a chain is older than all that is in fifo.
//
// Lanes, that is a queue and a worker for each class of keys, would keep the
// order without chains and with less to lock. But there a callback that blocks
// holds up all the other keys of its lane while workers of other lanes are
// idle, and that nobody else is delayed is what this package promises.
//
// A worker is started by a push that finds fewer than the most workers, and
// ends when it finds fifo empty. Both happen in the critical section that also
// changes fifo, hence
//
//	invariant: a worker that is not in a callback is about to look into
//	fifo, and of these there are at least as many as fifo has items, or as
//	many as the limit leaves beside the running callbacks
//
// and no item is left behind. The number of workers is a plain counter under
// that lock and not a semaphore.Weighted. A Drain that waits in
// Weighted.Acquire for all the weight makes every TryAcquire fail meanwhile:
// the workers that are left are all that a push can count on, so one blocked
// callback would delay the others, a callback that waits for one which it
// pushed would hang, and a push at the moment in which Drain has all the
// weight would be left behind. Besides, a second lock would buy nothing.

// ErrCallback is returned by [Runner.Drain] and [Pool.Drain] to a callback.
var ErrCallback = errors.New("runner: a callback cannot wait for callbacks to end")

// ErrGoexit is what a runner or a pool reports for a callback that called
// [runtime.Goexit].
var ErrGoexit = errors.New("runner: callback called runtime.Goexit")

// A Runner calls a function for each item that is pushed to it. It is made by
// [New] and safe for concurrent use.
//
// A push happens before its call (in the terms of the Go memory model), the
// end of a call before the next call of the same key, and the end of all calls
// before the return of the [Runner.Drain] that waited for them.
type Runner[T any] struct {
	call    func(T)
	limit   int // most workers
	backlog int64
	start   func() // body of a worker's goroutine; kept so that starting one does not allocate
	guard   guard  // around call

	queued atomic.Int64 // items in fifo and on chains; written with mu held

	mu      sync.Mutex
	fifo    queue[entry[T]]
	workers int // goroutines that work, or are started and will

	// running has the callbacks that run now, at most limit, by their keys.
	running map[uint64]running[T]
	unused  []*queue[T] // empty chains for later, at most limit

	room chan struct{} // closed and forgotten when queued falls to backlog; nil: nobody waits
	idle chan struct{} // closed and forgotten when the last worker leaves; nil: nobody waits
}

type entry[T any] struct {
	order uint64
	item  T
}

// A running callback.
type running[T any] struct {
	began time.Time
	chain *queue[T] // the items deferred because of it; nil as long as there are none
}

// New returns a runner that calls call for each item, at most workers at once,
// and whose [Runner.Wait] waits while more than backlog items are queued.
//
// A panic in call is recovered and handed to report with the stack on which it
// happened, and so is [ErrGoexit] when call ends its goroutine. A nil report
// means that they are only counted. Workers call report, so it may be called by
// several goroutines at once; it should not panic, and what it panics with is
// dropped.
//
// New panics if workers is not positive, backlog is negative or call is nil.
func New[T any](workers, backlog int, call func(T), report func(recovered any, stack []byte)) *Runner[T] {
	switch {
	case workers <= 0:
		panic("runner: the number of workers must be positive")
	case backlog < 0:
		panic("runner: the backlog must not be negative")
	case call == nil:
		panic("runner: nothing to call")
	}
	r := &Runner[T]{
		call:    call,
		limit:   workers,
		backlog: int64(backlog),
		guard:   guard{report: report},
		running: make(map[uint64]running[T]),
	}
	r.start = func() { work(r.run) }
	return r
}

// Push queues an item. It never blocks and never calls a callback itself, so
// it may be called with locks held; the order of concurrent pushes of one key
// is then the order of the lock that they hold. Different things whose order
// keys happen to be equal are called one after another.
//
// Push can be called at any time, also by callbacks, during a Drain and after
// it. It does not look at the backlog: see [Runner.Wait].
func (r *Runner[T]) Push(order uint64, item T) {
	r.mu.Lock()
	r.fifo.push(entry[T]{order, item})
	r.queued.Add(1)
	more := r.workers < r.limit
	if more {
		r.workers++
	}
	r.mu.Unlock()
	if more {
		go r.start()
	}
}

// Wait is the back-pressure on producers: it returns at once if at most
// backlog items are queued, and otherwise when their number has fallen to
// backlog, or with the cause of ctx when ctx ends. Items being called are not
// queued any more.
//
// A producer calls it after a push, when it holds no lock that a callback may
// want. Because pushes themselves never wait, the queue can exceed the backlog
// by what each producer pushes between two calls of Wait.
//
// A callback never waits, neither for its own runner nor for another: it would
// wait for itself, or two runners for each other. To a goroutine that is in a
// callback of any runner or pool Wait returns nil at once. A goroutine that a callback
// starts, and an iterator that it runs by [iter.Pull], is not recognised; a
// callback must not wait for one that calls Wait.
func (r *Runner[T]) Wait(ctx context.Context) error {
	if r.queued.Load() <= r.backlog {
		return nil
	}
	return r.waitForRoom(ctx)
}

func (r *Runner[T]) waitForRoom(ctx context.Context) error {
	if InCallback() {
		return nil
	}
	r.mu.Lock()
	if r.queued.Load() <= r.backlog {
		r.mu.Unlock()
		return nil
	}
	if r.room == nil {
		r.room = make(chan struct{})
	}
	room := r.room
	r.mu.Unlock()
	return wait(ctx, room)
}

// Drain waits until the runner is idle: all items that were pushed have been
// called, also those that their callbacks pushed, and no worker is left. It
// returns the cause of ctx if ctx ends before; the callbacks go on all the
// same.
//
// Drain refuses nothing and stops nobody. Producers that keep pushing can keep
// it waiting; what is pushed after it has returned is called as ever.
//
// To a callback, whose runner is not idle before it returns, Drain returns
// [ErrCallback] at once. This holds for callbacks of other runners too, unless
// r is idle.
func (r *Runner[T]) Drain(ctx context.Context) error {
	return drain(ctx, &r.mu, func() bool { return r.workers == 0 }, &r.idle)
}

// drain waits until isIdle. Both isIdle and *idle are guarded by mu; a worker
// that finds *idle set when it makes isIdle true closes it.
func drain(ctx context.Context, mu *sync.Mutex, isIdle func() bool, idle *chan struct{}) error {
	mu.Lock()
	done := isIdle()
	mu.Unlock()
	if done {
		return nil
	}
	if InCallback() {
		return ErrCallback
	}

	mu.Lock()
	if isIdle() {
		mu.Unlock()
		return nil
	}
	if *idle == nil {
		*idle = make(chan struct{})
	}
	drained := *idle
	mu.Unlock()
	return wait(ctx, drained)
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Queued returns the number of items that wait to be called.
func (r *Runner[T]) Queued() int { return int(r.queued.Load()) }

// Running returns the number of callbacks that run now, and how long the oldest of
// them has run, which is 0 if there is none.
func (r *Runner[T]) Running() (n int, oldest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, running := range r.running {
		oldest = max(oldest, time.Since(running.began))
	}
	return len(r.running), oldest
}

// Panics returns the number of callbacks that panicked or called
// [runtime.Goexit].
func (r *Runner[T]) Panics() uint64 { return r.guard.failed.Load() }

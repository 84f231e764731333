// Package runner calls callbacks on its own goroutines, a limited number at a time. A
// [Runner] has a queue, and calls one function for each item that is pushed to it. A
// [Pool] has no queue: its workers fetch work that its owner keeps.
//
// The items of a runner carry an order key. Those with the same key are called
// one after another, in the order in which they were pushed; those with
// different keys may be called at the same time. A callback that blocks delays only
// the items of its own key, as long as a worker is free. A callback that panics or
// calls [runtime.Goexit] delays no other.
//
// Push never blocks. Back-pressure is a separate call, [Runner.Wait]: a producer
// pushes under its lock, which decides the order, and waits after releasing it.
//
// A runner or a pool without work has no goroutine. There is nothing to close: once
// its work is done, an unreferenced one is garbage-collected.
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
// There is one queue, fifo, and each item leaves it once. Only then does a worker
// look at the order key: if a callback of the same key is running, the worker
// defers the item to that key's chain, and goes on to the next item. The
// worker that ends a callback continues with the head of its key's chain, and
// releases the key when the chain is empty. As every item of the key passes
// through fifo, and then through the chain while the key is running, the order
// holds. It is also fair: an item on a chain is older than all items in fifo.
//
// A queue and a worker for each class of keys would keep the order without chains
// and with less locking. But then a callback that blocks would delay all other keys
// of its class while other workers are idle, and this package promises that it
// delays no other key.
//
// A push starts a worker if fewer than the limit run, and a worker ends when it
// finds fifo empty. Both happen in the critical section that also changes fifo,
// hence
//
//	invariant: a worker outside a callback is about to look into fifo, and
//	there are at least as many such workers as items in fifo, or as many as
//	the limit leaves beside the running callbacks
//
// and no item is left behind.
//
// The number of workers is a plain counter under that lock and not a semaphore.Weighted.
// A Drain would wait in Weighted.Acquire for all the weight, and meanwhile every
// TryAcquire would fail, so no push could start a worker. One blocked callback would
// delay the others, a callback could wait for ever for an item that it pushed, and an
// item pushed while Drain holds all the weight would be left behind.

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
	workers int // goroutines that work, or are about to start

	// running holds the callbacks that run now by their keys, at most limit.
	running map[uint64]running[T]
	unused  []*queue[T] // empty chains to reuse, at most limit

	waiters atomic.Int64 // calls of Wait that wait

	room chan struct{} // closed and set to nil when queued falls to backlog; nil if no Wait waits
	idle chan struct{} // closed and set to nil when the last worker leaves; nil if no Drain waits
}

type entry[T any] struct {
	order uint64
	item  T
}

// running is a callback that runs now.
type running[T any] struct {
	began time.Time
	chain *queue[T] // the items deferred until it ends; nil before the first
}

// New returns a runner that calls call for each item, at most workers at once. Its
// [Runner.Wait] waits while more than backlog items are queued.
//
// A panic in call is recovered and handed to report with the stack on which it
// happened, and so is [ErrGoexit] when call ends its goroutine. If report is nil,
// they are only counted. report may be called by several goroutines at once. It
// should not panic; a panic of report is dropped.
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
// is then the order in which they hold the lock.
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

// Wait waits until at most backlog items are queued, and returns nil. If ctx ends
// first, it returns the cause of ctx. Items being called are not queued any more.
//
// A producer calls Wait after a push, holding no lock that a callback may take. Since
// pushes never wait, the queue can exceed the backlog by what each producer pushes
// between two calls of Wait.
//
// In a callback of any runner or pool Wait returns nil at once: otherwise a callback
// could wait for itself, or two runners for each other. But Wait does not recognise a
// goroutine that a callback starts, except by [Go], nor an iterator that a callback runs by
// [iter.Pull]: if one of them calls Wait, the callback must not wait for it.
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
	r.waiters.Add(1)
	defer r.waiters.Add(-1)
	return wait(ctx, room)
}

// Waiters returns how many calls of Wait wait.
func (r *Runner[T]) Waiters() int { return int(r.waiters.Load()) }

// Drain waits until the runner is idle: all items, also those that callbacks push, have
// been called, and no worker is left. If ctx ends first, Drain returns its cause, and the
// callbacks go on.
//
// Drain does not stop the runner. Producers that keep pushing can keep Drain waiting,
// and items pushed after it has returned are called as usual.
//
// Called by a callback of any runner or pool, Drain returns [ErrCallback] at once,
// unless r is idle. A runner is never idle for its own callbacks.
func (r *Runner[T]) Drain(ctx context.Context) error {
	return drain(ctx, &r.mu, func() bool { return r.workers == 0 }, &r.idle)
}

// Idle reports whether no item is queued or being called.
func (r *Runner[T]) Idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.workers == 0
}

// drain waits until isIdle. mu guards both isIdle and *idle. The worker that makes isIdle
// true closes *idle if it is set.
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

// Running returns the number of callbacks that run now, and how long the oldest has run:
// 0 if there is none.
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

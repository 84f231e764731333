package runner

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// The design.
//
//	owner                           worker
//
//	makes ready() true              next() finds nothing
//	Wake: looks at workers          workers--
//	                                looks at ready()
//
// A pool has no queue. Its owner keeps the work, and a worker calls next until
// there is none. The danger is a lost wake-up: Wake starts no worker, because all
// are running, and the worker on which it relied leaves with the work unclaimed.
// This cannot happen, because each of the two writes before it loads, and atomics
// are in one order: either Wake sees that the worker has left, and starts one, or
// the worker sees that there is work, and stays. Hence
//
//	invariant: once Wake has returned, unclaimed work has a worker that will
//	call next before it leaves; a worker in a callback calls next after it
//
// A worker that stays is counted in again in the critical section in which it was
// counted out. So the limit holds, and a Drain never sees the moment between.
//
// Guests are goroutines in Run. They are counted separately and may leave at any
// time; the invariant does not rely on them.

// A Pool runs callbacks. Its owner keeps them, in its own order and under its own lock:
// the pool only provides the goroutines that fetch them. It is made by [NewPool] and safe
// for concurrent use.
//
// A [Pool.Wake] does not in general happen before the call of next that finds the
// work (in the terms of the Go memory model): the owner's lock must order them. The
// end of a callback happens before the return of the [Pool.Drain] that waited for it.
type Pool struct {
	next  func() bool
	ready func() bool
	limit int64  // most workers
	start func() // body of a worker's goroutine; kept so that starting one does not allocate
	guard guard  // around next, and around what Run is given

	// workers is the number of goroutines that work, or are about to start. It is written
	// under mu, and read by Wake without.
	workers atomic.Int64

	mu      sync.Mutex
	callers int           // goroutines in Run
	idle    chan struct{} // closed and set to nil when the last worker or caller leaves; nil if no Drain waits
}

// NewPool returns a pool of at most workers workers, which call next again and
// again as long as it finds work.
//
// next claims the oldest piece of work, calls its callback and reports true, or
// reports false if there is none. It is called without locks, by several goroutines
// at once. If more work is left after its claim, it must call [Pool.Wake] before the
// callback: the pool cannot see the moment between the two, and the callback may
// block. Claiming must not panic.
//
// ready reports whether next would find something. It is called at every Wake
// that finds a worker missing, possibly with locks of the pool and of Wake's
// caller held, so it must be cheap and take no lock: it loads atomics. It must
// report true from before the Wake until the work has been claimed. It may
// report true a moment longer, for example until a counter is decremented after the
// claim. During that moment workers that find nothing call it in a loop, so ready must
// not report work that cannot be claimed yet.
//
// A panic in next or in Run is recovered and handed to report with the stack on
// which it happened, and so is [ErrGoexit] when a callback ends its goroutine.
// For next this counts as having found work. If report is nil, they are only counted.
// What [New] says about report holds here too.
//
// NewPool panics if workers is not positive, or next or ready is nil.
func NewPool(workers int, next, ready func() bool, report func(recovered any, stack []byte)) *Pool {
	switch {
	case workers <= 0:
		panic("runner: the number of workers must be positive")
	case next == nil || ready == nil:
		panic("runner: nothing to call")
	}
	p := &Pool{
		next:  next,
		ready: ready,
		limit: int64(workers),
		guard: guard{report: report},
	}
	p.start = func() { work(p.run) }
	return p
}

// Wake starts a worker if work is ready and fewer workers than the limit run. Work
// that was ready before the call is run as soon as a worker is free.
//
// Wake starts at most one worker, however much work there is: the worker claims a piece
// and wakes the next. Wake never blocks and calls only ready, so it may be called with
// locks held, also the locks that next takes. While all workers run it takes no lock and
// costs an atomic load.
func (p *Pool) Wake() {
	if p.workers.Load() < p.limit && p.ready() && p.enter() {
		go p.start()
	}
}

// enter counts one more worker, and reports false if the limit is reached.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.workers.Load() == p.limit {
		return false
	}
	p.workers.Add(1)
	return true
}

// run is the main loop of a worker, which has been counted in. When run returns, or
// Goexit ends its goroutine, the worker has left or has continued in a new goroutine.
func (p *Pool) run() {
	left := false
	defer func() {
		if !left {
			go p.start()
		}
	}()
	for p.step() || !p.leave() {
	}
	left = true
}

// step calls next, and reports whether it found work.
func (p *Pool) step() (found bool) {
	found = true // also if the callback panics
	returned := false
	defer p.guard.end(&returned)
	found = p.next()
	returned = true
	return found
}

// leave counts out a worker that found nothing, and reports whether it has left:
// it stays if there is work again.
//
// It calls ready after it has counted the worker out, as Wake loads the count after
// ready became true; and in the same critical section, so that the limit holds.
func (p *Pool) leave() bool {
	p.mu.Lock()
	p.workers.Add(-1)
	if p.ready() {
		p.workers.Add(1)
		p.mu.Unlock()
		runtime.Gosched() // ready may still report work that was claimed just now
		return false
	}
	p.signalIdle()
	p.mu.Unlock()
	return true
}

// signalIdle wakes the waiting Drains if the last worker or caller has been counted
// out. It must be called in that critical section of mu.
func (p *Pool) signalIdle() {
	if p.isIdle() && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// isIdle reports whether there are no workers and no callers. It must be called with
// mu held.
func (p *Pool) isIdle() bool { return p.callers == 0 && p.workers.Load() == 0 }

// Run calls f on the calling goroutine as a callback of the pool: a panic is
// recovered, counted and reported; a Goexit is counted and reported, and ends
// the goroutine; Drain waits for it, and [InCallback] is true in it. It does not
// count towards the limit.
func (p *Pool) Run(f func()) {
	p.mu.Lock()
	p.callers++
	p.mu.Unlock()
	defer func() { // also after a Goexit
		p.mu.Lock()
		p.callers--
		p.signalIdle()
		p.mu.Unlock()
	}()
	work(func() {
		returned := false
		defer p.guard.end(&returned)
		f()
		returned = true
	})
}

// Fail counts and reports a failed function of the user as if it were a callback. The
// function panicked with cause, or called Goexit if cause is nil. A deferred function must
// call Fail, so that the stack still has the failed function.
func (p *Pool) Fail(cause any) { p.guard.fail(cause) }

// Drain waits until the pool is idle: no worker and no call of Run is left, and all
// work for which Wake was called has been run. If ctx ends first, Drain returns its
// cause, and the callbacks go on.
//
// Drain does not stop the pool: it accepts work meanwhile and afterwards. Called by a
// callback, Drain returns [ErrCallback], as [Runner.Drain] does.
func (p *Pool) Drain(ctx context.Context) error {
	return drain(ctx, &p.mu, p.isIdle, &p.idle)
}

// Running returns the number of workers and of calls of Run.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.workers.Load()) + p.callers
}

// Panics returns the number of callbacks that panicked or called
// [runtime.Goexit].
func (p *Pool) Panics() uint64 { return p.guard.failed.Load() }

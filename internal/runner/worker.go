package runner

import "time"

// deferBatch is the most items that are deferred in one critical section: about 6 µs, at
// 25 ns each. A push waits for the section, so a million items of one key must
// not be deferred in a single one.
const deferBatch = 256

// run is the main function of a worker that a push started.
func (r *Runner[T]) run() {
	r.mu.Lock()
	if e, ok := r.take(); ok {
		r.serve(e)
	}
}

// serve calls e, whose key is marked as running, and then further items until there
// are none. When serve returns, or Goexit ends its goroutine, the worker has left or
// has continued in a new goroutine.
func (r *Runner[T]) serve(e entry[T]) {
	left := false
	defer func() {
		if left {
			return
		}
		if e, ok := r.next(e.order); ok {
			go work(func() { r.serve(e) })
		}
	}()
	for ok := true; ok; {
		r.invoke(e.item)
		e, ok = r.next(e.order)
	}
	left = true
}

// next ends the call of an item with the given key and takes the next item, from the chain of
// the key or, if that is empty, from fifo. It reports false if there is none: then the worker
// has left.
func (r *Runner[T]) next(order uint64) (entry[T], bool) {
	r.mu.Lock()
	if chain := r.running[order].chain; chain != nil {
		if item, ok := chain.pop(); ok {
			r.running[order] = running[T]{time.Now(), chain}
			r.dequeued()
			r.mu.Unlock()
			return entry[T]{order, item}, true
		}
		r.unused = append(r.unused, chain)
	}
	delete(r.running, order)
	return r.take()
}

// take removes the oldest item from fifo whose key is not running, marks the
// key and returns the item. Items before it go to the chains of their keys.
// It reports false if there is none: then the worker has left.
//
// It must be called with r.mu held, and releases it.
func (r *Runner[T]) take() (entry[T], bool) {
	for n := 1; ; n++ {
		e, ok := r.fifo.pop()
		if !ok {
			r.leave()
			r.mu.Unlock()
			return e, false
		}
		call, busy := r.running[e.order]
		if !busy {
			r.running[e.order] = running[T]{began: time.Now()}
			r.dequeued()
			r.mu.Unlock()
			return e, true
		}
		if call.chain == nil {
			call.chain = r.newChain()
			r.running[e.order] = call
		}
		call.chain.push(e.item)
		if n%deferBatch == 0 {
			r.mu.Unlock()
			r.mu.Lock()
		}
	}
}

// dequeued counts an item that is about to be called, and wakes the producers in Wait
// if there is room now. It must be called with r.mu held.
func (r *Runner[T]) dequeued() {
	if r.queued.Add(-1) <= r.backlog && r.room != nil {
		close(r.room)
		r.room = nil
	}
}

// leave counts out a worker that found fifo empty. It must be called in that critical section
// of r.mu.
func (r *Runner[T]) leave() {
	r.workers--
	if r.workers == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// newChain returns an empty chain. It must be called with r.mu held.
func (r *Runner[T]) newChain() *queue[T] {
	last := len(r.unused) - 1
	if last < 0 {
		return new(queue[T])
	}
	chain := r.unused[last]
	r.unused[last] = nil
	r.unused = r.unused[:last]
	return chain
}

// invoke calls the callback, and returns even if it panics. A Goexit goes on to the deferred
// function of serve.
func (r *Runner[T]) invoke(item T) {
	returned := false
	defer r.guard.end(&returned)
	r.call(item)
	returned = true
}

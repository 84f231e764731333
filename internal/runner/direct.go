package runner

import (
	"context"
	"sync"
	"time"
)

// A Direct calls a function for items as a [Runner] does, but has no goroutines: who pushes an
// item under a lock of his own also calls it, by [Direct.Run], when he holds no lock any more.
// Items with the same order key are called one after another, in the order in which they were
// pushed, so Run waits until those before have been called by their own pushers.
//
// Whoever waits for an item was pushed later than it, so two calls of Run never wait for each
// other. In a callback Run does not wait at all, nor does [Direct.RunNow] anywhere: what it would
// have to wait for may be the callback itself, or wait for the caller. There the item is left to
// the goroutine that calls the one before it, which calls it next.
//
// A Direct is made by [NewDirect] and safe for concurrent use.
type Direct[T any] struct {
	call  func(T)
	guard guard // around call

	mu     sync.Mutex
	taken  map[any]*Owed[T]    // what was pushed under a lock that is still held, by holder
	first  map[uint64]*Owed[T] // of each key with items that were not called yet: the oldest
	queued int                 // items that no call has begun for
	idle   chan struct{}       // closed and set to nil when the last key leaves first; nil if no Drain waits
}

// An Owed has items that were pushed and are still to be called, in a circle that is known by its
// last one. nil is none.
type Owed[T any] struct {
	order uint64
	item  T
	next  *Owed[T] // pushed next by the same goroutine, or the first of the circle

	// What follows is guarded by mu of the Direct.
	behind *Owed[T]      // the one pushed next for the key
	last   *Owed[T]      // in the first of its key: the last for which the key waits
	began  time.Duration // when its call began, since epoch; 0 before
	left   bool          // to the goroutine that calls the one before it
	turn   chan struct{} // closed when it becomes the first of its key; nil while nobody waits
}

// NewDirect returns a Direct that calls call. Panics and Goexit are reported as by a [Runner]; a
// Goexit then ends the goroutine, after the other items that it owes.
func NewDirect[T any](call func(T), report func(recovered any, stack []byte)) *Direct[T] {
	return &Direct[T]{call: call, guard: guard{report: report}, taken: make(map[any]*Owed[T]), first: make(map[uint64]*Owed[T])}
}

// Push adds an item for a goroutine that holds a lock, which holder stands for. It calls nothing.
// The order of the items of one key is that in which they are pushed.
func (d *Direct[T]) Push(holder any, order uint64, item T) {
	o := &Owed[T]{order: order, item: item}
	o.next, o.last = o, o
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken[holder] = d.taken[holder].Add(o)
	d.queued++
	if first := d.first[order]; first != nil {
		first.last.behind, first.last = o, o
	} else {
		d.first[order] = o
	}
}

// Take returns what was pushed with a holder. It is called with the lock of the holder, before
// that is given back.
func (d *Direct[T]) Take(holder any) *Owed[T] {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.taken[holder]
	delete(d.taken, holder)
	return o
}

// Add returns the items of o and, behind them, those of more.
func (o *Owed[T]) Add(more *Owed[T]) *Owed[T] {
	switch {
	case o == nil:
		return more
	case more == nil:
		return o
	}
	o.next, more.next = more.next, o.next
	return more
}

// Run calls items, each when its turn has come. No lock may be held.
func (d *Direct[T]) Run(o *Owed[T]) { d.runAll(o.open(), true) }

// RunNow is Run, but leaves the items whose turn has not come yet to others.
func (d *Direct[T]) RunNow(o *Owed[T]) { d.runAll(o.open(), false) }

// open opens the circle and returns its first item.
func (o *Owed[T]) open() (first *Owed[T]) {
	if o != nil {
		first, o.next = o.next, nil
	}
	return first
}

// runAll runs the items from one on.
func (d *Direct[T]) runAll(o *Owed[T], patient bool) {
	defer func() {
		if o != nil { // a call has ended the goroutine
			d.runAll(o, patient)
		}
	}()
	for o != nil {
		now := o
		o = o.next
		if d.await(now, patient) {
			work(func() { d.runFrom(now) })
		}
	}
}

// await waits until it is the turn of an item. It returns false if another goroutine is to call
// the item.
func (d *Direct[T]) await(o *Owed[T], patient bool) (mine bool) {
	if d.begin(o, false) {
		return true
	}
	if !patient || InCallback() {
		return d.begin(o, true)
	}
	d.mu.Lock()
	if d.first[o.order] == o {
		d.begins(o)
		d.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	o.turn = turn
	d.mu.Unlock()
	<-turn
	return true
}

// begin begins the call of an item and returns true if it is the first of its key. Else, with
// leave, the item is left to the goroutine that calls the one before it.
func (d *Direct[T]) begin(o *Owed[T], leave bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first[o.order] != o {
		o.left = leave
		return false
	}
	d.begins(o)
	return true
}

// begins notes that an item is going to be called now. mu must be held.
func (d *Direct[T]) begins(o *Owed[T]) {
	d.queued--
	o.began = max(time.Since(epoch), 1)
}

// runFrom calls the first item of a key, and then those that were left to it.
func (d *Direct[T]) runFrom(o *Owed[T]) {
	defer func() {
		if o == nil {
			return
		}
		if o = d.end(o); o != nil { // a call has ended the goroutine
			d.runFrom(o)
		}
	}()
	for o != nil {
		d.invoke(o.item)
		o = d.end(o)
	}
}

// end ends the call of the first item of a key, and begins that of the next one. It returns that
// if it was left to the caller.
func (d *Direct[T]) end(o *Owed[T]) (left *Owed[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := o.behind
	if next == nil {
		delete(d.first, o.order)
		if len(d.first) == 0 && d.idle != nil {
			close(d.idle)
			d.idle = nil
		}
		return nil
	}
	next.last = o.last
	d.first[o.order] = next
	switch {
	case next.left:
		left = next
	case next.turn != nil:
		close(next.turn)
	default:
		return nil // its own goroutine has not come to it yet
	}
	d.begins(next)
	return left
}

// invoke calls the callback and returns also if it panics. A Goexit goes on to the deferred
// function of runFrom.
func (d *Direct[T]) invoke(item T) {
	returned := false
	defer d.guard.end(&returned)
	d.call(item)
	returned = true
}

// Idle reports whether all items that were pushed have been called.
func (d *Direct[T]) Idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.first) == 0
}

// Drain waits until all items that were pushed have been called. If ctx ends first, it returns
// its cause. In a callback it returns [ErrCallback] at once, unless the Direct is idle.
func (d *Direct[T]) Drain(ctx context.Context) error {
	return drain(ctx, &d.mu, func() bool { return len(d.first) == 0 }, &d.idle)
}

// Queued returns the number of items that wait to be called.
func (d *Direct[T]) Queued() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.queued
}

// Running returns the number of callbacks that run now, and how long the oldest of them has run,
// which is 0 if there is none.
func (d *Direct[T]) Running() (n int, oldest time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Since(epoch)
	for _, o := range d.first {
		if o.began > 0 {
			n++
			oldest = max(oldest, now-o.began)
		}
	}
	return n, oldest
}

// Panics returns the number of callbacks that panicked or called [runtime.Goexit].
func (d *Direct[T]) Panics() uint64 { return d.guard.failed.Load() }

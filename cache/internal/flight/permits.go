// This file has the rules of all loads of a cache: how long they may take, and how many may run.

package flight

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Rules are what all loads of a cache obey: how many run at once, and how long one may take. They are
// safe for concurrent use.
//
// A load needs a permit if their number is limited. One begun within the fetch
// of another one, which its context shows, shares the permit of that one if none is free:
// otherwise it could wait for a permit that is freed only when it has ended. For the same
// reason a load that waits for a permit gets a share when such a fetch waits for it.
type Rules struct {
	timeout time.Duration       // of a load, and of all waits of a caller together; 0: none
	tooLate error               // the cause with which a flight ends at timeout
	free    *semaphore.Weighted // permits; nil if loads are not limited
	waiting atomic.Int64        // loads that wait for a permit

	observer Observer
}

// Init sets the rules: at most most loads at once, any number if that is 0, each for at most timeout,
// for ever if that is 0. Then its flight ends with the cause tooLate.
func (r *Rules) Init(most int, timeout time.Duration, tooLate error, observer Observer) {
	r.timeout, r.tooLate, r.observer = timeout, tooLate, observer
	if most > 0 {
		r.free = semaphore.NewWeighted(int64(most))
	}
}

// PlainCaller returns a caller without a context.
func (r *Rules) PlainCaller() Caller { return Caller{Ctx: context.Background(), rules: r} }

// CallerOf returns a caller with a context.
func (r *Rules) CallerOf(ctx context.Context) Caller {
	return Caller{Ctx: ctx, Inside: r.around(ctx), rules: r, ends: ctx.Done() != nil}
}

// Background returns the caller of a load for which nobody waits: only the values of ctx count.
func (r *Rules) Background(ctx context.Context) Caller { return Caller{Ctx: ctx, rules: r} }

// Timeout returns how long a load may take; 0: for ever.
func (r *Rules) Timeout() time.Duration { return r.timeout }

// Limited reports whether loads need a permit.
func (r *Rules) Limited() bool { return r.free != nil }

// Waiting returns how many loads wait for a permit.
func (r *Rules) Waiting() int { return int(r.waiting.Load()) }

// A permit is free again when the fetches of all loads that share it have ended.
type permit struct{ sharers atomic.Int32 }

// Acquire waits until the load whose context is f has a permit. If the context ends first,
// Acquire returns its cause. In any case release must follow.
func (r *Rules) Acquire(f *Flight) error {
	if r.free == nil {
		return nil
	}
	if f.background || r.free.TryAcquire(1) { // TryAcquire has succeeded
		r.giveBack(f.hold(newPermit()))
		return nil
	}
	ctx, cancel := context.WithCancel(f)
	defer cancel()
	if !f.awaitPermit(cancel) {
		return nil
	}
	began := time.Now()
	r.waiting.Add(1)
	err := r.free.Acquire(ctx, 1)
	r.waiting.Add(-1)
	r.observer.Queued(time.Since(began))
	switch {
	case err == nil:
		r.giveBack(f.hold(newPermit()))
		return nil
	case f.Err() == nil: // lent
		return nil
	}
	return context.Cause(f)
}

// TryAcquire takes a permit, if one is free, for a load in the background.
func (r *Rules) TryAcquire() bool { return r.free == nil || r.free.TryAcquire(1) }

// Release says that the fetch of a load has ended, and gives back its permit.
func (r *Rules) Release(f *Flight) {
	f.over.Store(true)
	if r.free != nil {
		r.giveBack(f.hold(nil))
	}
}

// Lend lets a load share the permit of the fetch that is to wait for it: the innermost of
// those around its caller that has not ended.
func (r *Rules) Lend(to *Flight, inside []*Flight) {
	if r.free == nil {
		return
	}
	for _, f := range inside {
		if shared := f.share(); shared != nil {
			if !to.lent(shared) {
				r.giveBack(shared)
			}
			return
		}
	}
}

func (r *Rules) giveBack(held *permit) {
	if held != nil && held.sharers.Add(-1) == 0 {
		r.free.Release(1)
	}
}

func newPermit() *permit {
	own := new(permit)
	own.sharers.Store(1)
	return own
}

// share returns the permit of a load, which now has one more sharer, or nil if it has none.
func (f *Flight) share() *permit {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.permit != nil {
		f.permit.sharers.Add(1) // f has a share, which it drops under its lock and then gives back
	}
	return f.permit
}

// hold gives a load another permit, and returns the one that it had.
func (f *Flight) hold(another *permit) (before *permit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.permit = f.permit, another
	return before
}

// awaitPermit sets the function that is called when the load is lent a permit. It returns false
// if it has one already.
func (f *Flight) awaitPermit(lend func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lend = lend
	return f.permit == nil
}

// lent gives a load a permit, unless it has one or its fetch has ended.
func (f *Flight) lent(shared *permit) bool {
	f.mu.Lock()
	needed := f.permit == nil && !f.over.Load()
	lend := f.lend
	if needed {
		f.permit = shared
	}
	f.mu.Unlock()
	if needed && lend != nil {
		lend() // without the lock: it asks f for Done
	}
	return needed
}

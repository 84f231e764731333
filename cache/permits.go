// This file has the permits of MaxLoads.

package cache

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Permits limit the loads that run at once, if MaxLoads is set. A load begun within the fetch
// of another one, which its context shows, shares the permit of that one if none is free:
// otherwise it could wait for a permit that is freed only when it has ended. For the same
// reason a load that waits for a permit gets a share when such a fetch waits for it.
type permits struct {
	free    *semaphore.Weighted // nil without MaxLoads
	waiting atomic.Int64        // loads that wait for a permit
}

// A permit is free again when the fetches of all loads that share it have ended.
type permit struct{ sharers atomic.Int32 }

func (p *permits) init(maxLoads int) {
	if maxLoads > 0 {
		p.free = semaphore.NewWeighted(int64(maxLoads))
	}
}

// acquire waits until the load whose context is f has a permit. If the context ends first,
// acquire returns its cause. In any case release must follow.
func (p *permits) acquire(f *flight) error {
	if p.free == nil {
		return nil
	}
	if f.background || p.free.TryAcquire(1) { // tryAcquire has succeeded
		p.giveBack(f.hold(newPermit()))
		return nil
	}
	ctx, cancel := context.WithCancel(f)
	defer cancel()
	if !f.awaitPermit(cancel) {
		return nil
	}
	p.waiting.Add(1)
	err := p.free.Acquire(ctx, 1)
	p.waiting.Add(-1)
	switch {
	case err == nil:
		p.giveBack(f.hold(newPermit()))
		return nil
	case f.Err() == nil: // lent
		return nil
	}
	return context.Cause(f)
}

// tryAcquire takes a permit, if one is free, for a load in the background.
func (p *permits) tryAcquire() bool { return p.free == nil || p.free.TryAcquire(1) }

// release says that the fetch of a load has ended, and gives back its permit.
func (p *permits) release(f *flight) {
	f.over.Store(true)
	if p.free != nil {
		p.giveBack(f.hold(nil))
	}
}

// lend lets a load share the permit of the fetch that is to wait for it: the innermost of
// those around its caller that has not ended.
func (p *permits) lend(to *flight, inside []*flight) {
	if p.free == nil {
		return
	}
	for _, f := range inside {
		if shared := f.share(); shared != nil {
			if !to.lent(shared) {
				p.giveBack(shared)
			}
			return
		}
	}
}

func (p *permits) giveBack(held *permit) {
	if held != nil && held.sharers.Add(-1) == 0 {
		p.free.Release(1)
	}
}

func newPermit() *permit {
	own := new(permit)
	own.sharers.Store(1)
	return own
}

// share returns the permit of a load, which now has one more sharer, or nil if it has none.
func (f *flight) share() *permit {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.permit != nil {
		f.permit.sharers.Add(1) // f has a share, which it drops under its lock and then gives back
	}
	return f.permit
}

// hold gives a load another permit, and returns the one that it had.
func (f *flight) hold(another *permit) (before *permit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.permit = f.permit, another
	return before
}

// awaitPermit sets the function that is called when the load is lent a permit. It returns false
// if it has one already.
func (f *flight) awaitPermit(lend func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lend = lend
	return f.permit == nil
}

// lent gives a load a permit, unless it has one or its fetch has ended.
func (f *flight) lent(shared *permit) bool {
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

// This file has the permits of MaxLoads.

package cache

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Permits limit the loads that run at once, if MaxLoads is set. A load begun within the
// fetch of another one, which its context shows, uses the permit of that one: otherwise it
// could wait for a permit that is freed only when it has ended. For the same reason a load
// that waits for a permit goes on without one when such a fetch waits for it.
type permits struct {
	free    *semaphore.Weighted // nil without MaxLoads
	waiting atomic.Int64        // loads that wait for a permit
}

func (p *permits) init(maxLoads int) {
	if maxLoads > 0 {
		p.free = semaphore.NewWeighted(int64(maxLoads))
	}
}

// acquire waits until the load whose context is f has a permit; then release must follow. If
// the context ends first, acquire returns its cause.
func (p *permits) acquire(f *flight) (release func(), err error) {
	if p.free == nil {
		return func() {}, nil
	}
	if f.background || p.free.TryAcquire(1) { // tryAcquire has succeeded
		return p.release, nil
	}
	ctx, cancel := context.WithCancel(f)
	defer cancel()
	if !f.awaitPermit(cancel) {
		return func() {}, nil
	}
	p.waiting.Add(1)
	err = p.free.Acquire(ctx, 1)
	p.waiting.Add(-1)
	switch {
	case err == nil:
		return p.release, nil
	case f.Err() == nil: // lent
		return func() {}, nil
	}
	return nil, context.Cause(f)
}

// tryAcquire takes a permit, if one is free, for a load in the background.
func (p *permits) tryAcquire() bool { return p.free == nil || p.free.TryAcquire(1) }

func (p *permits) release() { p.free.Release(1) }

// awaitPermit sets the function that is called when the load may go on without a permit of
// its own. It returns false if it may already.
func (f *flight) awaitPermit(lend func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lend = lend
	return !f.lent
}

// lendPermit lets the load use the permit of a caller.
func (f *flight) lendPermit() {
	f.mu.Lock()
	f.lent = true
	lend := f.lend
	f.mu.Unlock()
	if lend != nil {
		lend() // without the lock: it asks f for Done
	}
}

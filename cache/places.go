package cache

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Places are what loads need one of, if MaxLoads is set. A load that is begun within the
// fetch of another, which its context tells, goes on the place of that: otherwise it
// could wait for a place that is not free before it has ended. For the same reason a
// load that waits for a place goes on without one when such a fetch waits for it.
type places struct {
	free    *semaphore.Weighted // nil without MaxLoads
	waiting atomic.Int64        // loads that wait for a place
}

// placeOf is the key by which a context tells that it is of a load that has a place of a
// cache.
type placeOf struct{ cache any }

func (p *places) init(maxLoads int) {
	if maxLoads > 0 {
		p.free = semaphore.NewWeighted(int64(maxLoads))
	}
}

// within reports whether ctx is of a load that has a place.
func (p *places) within(ctx context.Context) bool {
	return p.free != nil && ctx.Value(placeOf{p}) != nil
}

// take waits until the load whose context is f has a place, or the context ends, and then
// returns the cause. Otherwise release must follow.
func (p *places) take(f *flight) (release func(), err error) {
	if p.free == nil {
		return func() {}, nil
	}
	f.placeFor = p
	if f.kept || p.free.TryAcquire(1) { // who keeps one has tried already
		return p.release, nil
	}
	ctx, cancel := context.WithCancel(f)
	defer cancel()
	if !f.awaitPlace(cancel) {
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

// try takes a place if there is one, for a load that is to be kept.
func (p *places) try() bool { return p.free == nil || p.free.TryAcquire(1) }

func (p *places) release() { p.free.Release(1) }

// awaitPlace has lend called when the load is to go on without a place. It returns false if that is so already.
func (f *flight) awaitPlace(lend func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lend = lend
	return !f.lent
}

// lendPlace lets the load go on the place of a caller.
func (f *flight) lendPlace() {
	f.mu.Lock()
	f.lent = true
	lend := f.lend
	f.mu.Unlock()
	if lend != nil {
		lend() // without the lock: it asks f for Done
	}
}

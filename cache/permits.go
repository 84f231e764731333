// This file limits how many loads run at once: MaxLoads.

package cache

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pinwheel-cache/pinwheel/stats"
)

// Permits limit the loads that run at once, if MaxLoads is set. A load begun within the
// fetch of another one, which its context shows, uses the permit of that one: otherwise it
// could wait for a permit that is freed only when it has ended. For the same reason a load
// that waits for a permit goes on without one when such a fetch waits for it.
type permits struct {
	free    *semaphore.Weighted // nil without MaxLoads
	waiting atomic.Int64        // loads that wait for a permit

	waits *stats.DurationRecorder // how long loads waited, those that did; nil without MaxLoads
}

func (p *permits) init(maxLoads int) {
	if maxLoads > 0 {
		p.free = semaphore.NewWeighted(int64(maxLoads))
		p.waits = new(stats.DurationRecorder)
	}
}

// take waits until the load whose context is f has a permit; then release must follow. It
// returns how long it waited. If the context ends first, take returns its cause.
func (p *permits) take(f *flight) (release func(), waited time.Duration, err error) {
	if p.free == nil {
		return func() {}, 0, nil
	}
	if f.kept || p.free.TryAcquire(1) { // a kept load has tried already
		return p.release, 0, nil
	}
	ctx, cancel := context.WithCancel(f)
	defer cancel()
	if !f.awaitPermit(cancel) {
		return func() {}, 0, nil
	}
	f.waited.Store(untilNow)
	waited, err = p.wait(ctx)
	f.waited.Store(int64(waited))
	switch {
	case err == nil:
		return p.release, waited, nil
	case f.Err() == nil: // lent
		return func() {}, waited, nil
	}
	return nil, waited, context.Cause(f)
}

// wait waits for a permit until ctx ends. It counts how long, also if that was in vain.
func (p *permits) wait(ctx context.Context) (waited time.Duration, err error) {
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	began := time.Now()
	err = p.free.Acquire(ctx, 1)
	waited = time.Since(began)
	p.waits.Observe(waited)
	return waited, err
}

// untilNow is the wait of a flight that waits for a permit.
const untilNow = -1

// ran returns how long the fetch of a load has run, which began age ago; 0 if it waits for a
// permit.
func (f *flight) ran(age time.Duration) time.Duration {
	if waited := f.waited.Load(); waited != untilNow {
		return age - time.Duration(waited)
	}
	return 0
}

// histogram returns how long loads waited, those that did.
func (p *permits) histogram() (h stats.Histogram) {
	if p.waits != nil {
		h = p.waits.Histogram()
	}
	return h
}

// try takes a permit, if one is free, for a load in the background.
func (p *permits) try() bool { return p.free == nil || p.free.TryAcquire(1) }

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

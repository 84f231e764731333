// This file has the rules of all loads of a cache: how long they may take, and how many may run.

package flight

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Rules are what all loads of a cache obey: how many run at once, and how long one may take. They are
// safe for concurrent use.
//
// A load needs a permit if their number is limited when it begins. One begun within the fetch
// of another one, which its context shows, shares the permit of that one if none is free:
// otherwise it could wait for a permit that is freed only when it has ended. For the same
// reason a load that waits for a permit gets a share when such a fetch waits for it; and if that fetch
// needs no permit, as it began without a limit, neither does the load.
type Rules struct {
	timeout  time.Duration           // of a load, and of all waits of a caller together; 0: none
	tooLate  error                   // the cause with which a flight ends at timeout
	permits  atomic.Pointer[permits] // nil before the first limit
	observer Observer
}

// permits are those that loads have, and the loads that wait for one. While one waits, none is free.
type permits struct {
	most    atomic.Int64 // 0: a load that begins needs none
	mu      sync.Mutex   // below the locks of shards, and above those of flights
	taken   int64        // more than most, if that was lowered since
	waiting list.List    // of *Flight; the first is the next
}

// Init sets the rules: at most most loads at once, any number if that is 0, each for at most timeout,
// for ever if that is 0. Then its flight ends with the cause tooLate.
func (r *Rules) Init(most int, timeout time.Duration, tooLate error, observer Observer) {
	r.timeout, r.tooLate, r.observer = timeout, tooLate, observer
	r.SetMost(most)
}

// SetMost changes how many loads may run at once; 0 means any number. Loads that run go on. It is not for
// several goroutines at once.
func (r *Rules) SetMost(most int) {
	p := r.permits.Load()
	if p == nil {
		if most == 0 {
			return
		}
		p = new(permits)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most.Store(int64(most))
	p.serve()
	r.permits.Store(p)
}

// Most returns how many loads may run at once, or 0.
func (r *Rules) Most() int {
	if p := r.permits.Load(); p != nil {
		return int(p.most.Load())
	}
	return 0
}

// Timeout returns how long a load may take, or 0.
func (r *Rules) Timeout() time.Duration { return r.timeout }

// PlainCaller returns a caller without a context.
func (r *Rules) PlainCaller() Caller { return Caller{Ctx: context.Background(), rules: r} }

// CallerOf returns a caller with a context.
func (r *Rules) CallerOf(ctx context.Context) Caller {
	return Caller{Ctx: ctx, Inside: r.around(ctx), rules: r, ends: ctx.Done() != nil}
}

// Background returns the caller of a load for which nobody waits: only the values of ctx count.
func (r *Rules) Background(ctx context.Context) Caller { return Caller{Ctx: ctx, rules: r} }

// Waiting returns how many loads wait for a permit.
func (r *Rules) Waiting() int {
	p := r.permits.Load()
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.Len()
}

// A Permit is free again when the fetches of all loads that share it have ended.
type Permit struct{ sharers atomic.Int32 }

// noNeed is what a load that needs no permit shares with those begun in its fetch. It counts as none.
var noNeed = new(Permit)

// Acquire waits until the load whose context is f has a permit. If the context ends first,
// Acquire returns its cause. In any case release must follow.
func (r *Rules) Acquire(f *Flight) error {
	if f.free || f.background || f.shares(noNeed) { // TryAcquire has succeeded
		return nil
	}
	p := r.permits.Load()
	p.mu.Lock()
	if own := p.take(); own != nil {
		p.mu.Unlock()
		r.giveBack(f.hold(own)) // what it was lent
		return nil
	}
	if !f.awaitPermit() {
		p.mu.Unlock()
		return nil
	}
	place := p.waiting.PushBack(f)
	p.mu.Unlock()
	began := time.Now()
	var ctx context.Context = f
	select {
	case <-f.ready:
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.waiting.Remove(place) // if it was lent a permit, or its context has ended
	p.mu.Unlock()
	f.waited = time.Since(began)
	r.observer.Queued(f.waited)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// TryAcquire takes a permit, if one is free, for a load in the background. It is nil if that needs none.
func (r *Rules) TryAcquire() (held *Permit, ok bool) {
	if r.Most() == 0 {
		return nil, true
	}
	p := r.permits.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	held = p.take()
	return held, held != nil
}

// Release says that the fetch of a load has ended, and gives back its permit.
func (r *Rules) Release(f *Flight) {
	f.over.Store(true)
	if !f.free {
		r.giveBack(f.hold(nil))
	}
}

// Lend lets a load share the permit of the fetch that is to wait for it: the innermost of
// those around its caller that has not ended.
func (r *Rules) Lend(to *Flight, inside []*Flight) {
	if to.free {
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

func (r *Rules) giveBack(held *Permit) {
	if held == nil || held.sharers.Add(-1) > 0 || held == noNeed {
		return
	}
	p := r.permits.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.serve()
}

// take returns a permit, or nil if none is free. The lock must be held.
func (p *permits) take() *Permit {
	if most := p.most.Load(); most > 0 && p.taken >= most {
		return nil
	}
	p.taken++
	own := new(Permit)
	own.sharers.Store(1)
	return own
}

// serve gives what permits are free to the loads that wait. The lock must be held.
func (p *permits) serve() {
	for p.waiting.Len() > 0 {
		own := p.take()
		if own == nil {
			return
		}
		if !p.waiting.Remove(p.waiting.Front()).(*Flight).lent(own) {
			p.taken--
		}
	}
}

// share returns the permit of a load, which now has one more sharer, or nil if it has none.
func (f *Flight) share() *Permit {
	f.mu.Lock()
	defer f.mu.Unlock()
	shared := f.permit
	if f.free && !f.over.Load() {
		shared = noNeed
	}
	if shared != nil {
		shared.sharers.Add(1) // f has a share, which it drops under its lock and then gives back
	}
	return shared
}

func (f *Flight) shares(p *Permit) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.permit == p
}

// hold gives a load another permit, and returns the one that it had.
func (f *Flight) hold(another *Permit) (before *Permit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.permit = f.permit, another
	return before
}

// awaitPermit makes the channel that is closed when the load gets a permit. It returns false if it has
// one already.
func (f *Flight) awaitPermit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = make(chan struct{})
	return f.permit == nil
}

// lent gives a load a permit, unless it has one or its fetch has ended.
func (f *Flight) lent(shared *Permit) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.permit != nil || f.over.Load() {
		return false
	}
	f.permit = shared
	if f.ready != nil {
		close(f.ready)
	}
	return true
}

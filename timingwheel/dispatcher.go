package timingwheel

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// A dispatcher has the callbacks called that are due. They stay in the due lists
// of the shards until somebody is free to call them: there is no queue of its own
// to grow, and what is removed or moved meanwhile is never seen.
type dispatcher struct {
	pool *runner.Pool // claims and calls them
	turn atomic.Uint32

	// With the user's own pool a single worker of offers hands out call, once for
	// every timer that is due, and does nothing else, as submit may block.
	submit  func(run func()) error // nil without one
	offers  *runner.Pool
	call    func()
	offered atomic.Int64 // calls handed out that have not begun
	refused atomic.Bool  // submit failed; to be tried again at the next tick
}

func (w *wheel) initDispatcher(o options) {
	w.pool = runner.NewPool(o.workers, w.callSome, w.anyReady, o.onPanic)
	if o.submit == nil {
		return
	}
	w.submit = o.submit
	w.offers = runner.NewPool(1, w.offer, w.mayOffer, o.onPanic)
	w.call = func() {
		w.takeBack()
		w.pool.Run(func() { w.callUpTo(1) })
	}
}

// dispatch says that timers are due. It is called at every tick.
func (w *wheel) dispatch() {
	if w.submit == nil {
		w.pool.Wake()
		return
	}
	w.refused.Store(false)
	w.offers.Wake()
}

// more says, before a callback that may block, that timers are left to be called.
func (w *wheel) more() {
	if w.submit == nil {
		w.pool.Wake()
	}
}

// inTurn is how many callbacks a worker calls from one shard before it goes on to
// the next: two workers that changed places at every callback would have to hand
// each other all that they touch.
const inTurn = 32

// callSome calls some callbacks of timers that are due, and reports whether there
// were any.
func (w *wheel) callSome() bool { return w.callUpTo(inTurn) }

// callUpTo calls up to n callbacks of timers that are due in one shard. It takes the
// shards in turn, so that none is neglected.
func (w *wheel) callUpTo(n int) (found bool) {
	turn := w.turn.Add(1)
	parts := w.madeParts()
	for i := range uint32(len(parts)) {
		p := parts[(turn+i)%uint32(len(parts))]
		for ; n > 0 && p.ready() && p.callNext(); n-- {
			found = true
		}
		if found {
			return true
		}
	}
	return false
}

// anyReady reports whether timers are due and not claimed yet.
func (w *wheel) anyReady() bool {
	for _, p := range w.madeParts() {
		if p.ready() {
			return true
		}
	}
	return false
}

// mayOffer reports whether more timers are due than calls were handed out.
func (w *wheel) mayOffer() bool {
	if w.refused.Load() {
		return false
	}
	due := int64(0)
	for _, p := range w.madeParts() {
		due += p.backlog()
	}
	return due > w.offered.Load()
}

// offer hands out a call for a timer that is due, and reports whether there was
// one.
func (w *wheel) offer() bool {
	if !w.mayOffer() {
		return false
	}
	w.offered.Add(1)
	taken := false
	defer func() {
		if !taken { // or submit panicked
			w.takeBack()
			w.refused.Store(true)
			w.wakeBy(w.ticks(w.now()) + 1)
		}
	}()
	taken = w.submit(w.call) == nil
	return true
}

// takeBack counts an offer that has been taken up, or refused. A pool that calls a
// function twice, or refuses it after it has called it, does not make it negative.
func (w *wheel) takeBack() {
	for n := w.offered.Load(); n > 0 && !w.offered.CompareAndSwap(n, n-1); n = w.offered.Load() {
	}
}

// errCallback is what Shutdown returns to a callback.
var errCallback = errors.New("timingwheel: Shutdown called by a callback: the wheel is stopped, but a callback cannot wait for callbacks to end")

// drained waits until no callback runs any more.
func (w *wheel) drained(ctx context.Context) error {
	pools := []*runner.Pool{w.pool}
	if w.offers != nil {
		pools = append(pools, w.offers)
	}
	for _, p := range pools {
		if err := p.Drain(ctx); errors.Is(err, runner.ErrCallback) {
			return errCallback
		} else if err != nil {
			return err
		}
	}
	return nil
}

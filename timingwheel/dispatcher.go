package timingwheel

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// A dispatcher calls the callbacks that are due. Their timers stay in the due lists
// of the shards until a worker is free: the dispatcher has no queue that could grow,
// and never sees a timer that was removed or moved meanwhile.
type dispatcher struct {
	pool *runner.Pool // claims and calls them
	turn atomic.Uint32

	// A single worker calls in the order of the ticks. So it calls only what was due at a tick that all
	// shards have reached, and waits while they are advanced.
	inOrder   bool
	reached   atomic.Int64
	advancing atomic.Int32 // calls of advance

	// With a pool of the user's, the single worker of offers submits a call for every
	// timer that is due. It does nothing else, as submit may block.
	submit  func(run func()) error // nil without one
	offers  *runner.Pool
	offered atomic.Int64 // calls submitted that have not begun
	refused atomic.Bool  // submit failed; the next tick tries again
}

func (w *wheel) initDispatcher(o options) {
	if w.inOrder = o.workers == 1 && o.submit == nil; w.inOrder {
		w.pool = runner.NewPool(1, w.callInOrder, w.mayCall, o.onPanic)
		return
	}
	w.pool = runner.NewPool(o.workers, w.callSome, w.anyReady, o.onPanic)
	if o.submit == nil {
		return
	}
	w.submit = o.submit
	w.offers = runner.NewPool(1, w.offer, w.mayOffer, nil) // offer reports to pool
}

// dispatch wakes a worker for timers that are due. It is called at every tick.
func (w *wheel) dispatch() {
	if w.submit == nil {
		w.pool.Wake()
		return
	}
	w.refused.Store(false)
	w.offers.Wake()
}

// more wakes another worker for the timers that are still due. A worker calls it
// before a callback, which may block.
func (w *wheel) more() {
	if w.submit == nil {
		w.pool.Wake()
	}
}

// callsPerShard is how many callbacks a worker calls from one shard before it goes on
// to the next. Two workers that changed shards after every callback would fight over
// the same cache lines.
const callsPerShard = 32

// callSome calls up to callsPerShard callbacks that are due, and reports whether there
// were any.
func (w *wheel) callSome() bool { return w.callUpTo(callsPerShard) }

// callUpTo calls up to n callbacks that are due in one shard, and none that becomes due
// meanwhile. The next call starts at the next shard. So keys that are due again and again
// do not keep the others waiting.
func (w *wheel) callUpTo(n int) (found bool) {
	turn := w.turn.Add(1)
	shards := w.madeShards()
	for i := range uint32(len(shards)) {
		p := shards[(turn+i)%uint32(len(shards))]
		for left := min(int64(n), p.backlog()); left > 0 && p.callNext(never); left-- {
			found = true
		}
		if found {
			w.turn.Add(i)
			return true
		}
	}
	return false
}

// callInOrder calls up to callsPerShard callbacks that are due at the earliest tick, in one shard, and
// reports whether there were any.
func (w *wheel) callInOrder() (found bool) {
	var first anyShard
	tick := w.reached.Load() + 1
	for _, p := range w.madeShards() {
		if at := p.oldest(); at < tick {
			first, tick = p, at
		}
	}
	for left := callsPerShard; first != nil && left > 0 && first.callNext(tick); left-- {
		found = true
	}
	return found
}

// mayCall is anyReady for callInOrder. While shards are advanced it says no: who ends that wakes the pool.
func (w *wheel) mayCall() bool { return w.advancing.Load() == 0 && w.anyReady() }

// reach notes that all shards have reached a tick.
func (w *wheel) reach(tick int64) {
	for before := w.reached.Load(); before < tick && !w.reached.CompareAndSwap(before, tick); {
		before = w.reached.Load()
	}
}

// advanced ends a call of advance.
func (w *wheel) advanced() {
	if w.advancing.Add(-1) == 0 && w.inOrder {
		w.pool.Wake()
	}
}

// anyReady reports whether timers are due and not claimed yet.
func (w *wheel) anyReady() bool {
	for _, p := range w.madeShards() {
		if p.ready() {
			return true
		}
	}
	return false
}

// mayOffer reports whether more timers are due than calls are submitted.
func (w *wheel) mayOffer() bool {
	if w.refused.Load() {
		return false
	}
	due := int64(0)
	for _, p := range w.madeShards() {
		due += p.backlog()
	}
	return due > w.offered.Load()
}

// offer submits a call for a timer that is due, and reports whether there was one.
func (w *wheel) offer() (found bool) {
	if !w.mayOffer() {
		return false
	}
	w.offered.Add(1)
	o := &offer{wheel: w}
	returned := false
	defer func() {
		if !returned {
			o.failed(recover())
		}
	}()
	err := w.submit(o.call)
	returned = true
	if err != nil {
		o.refused()
	}
	return true
}

// An offer is a call submitted for a timer that is due.
type offer struct {
	wheel *wheel
	begun atomic.Bool // or refused: it does not count in offered any more
}

// call calls the callback of a timer that is due. A pool may call it in submit, and may
// break the rules: call it twice, or after it was refused.
func (o *offer) call() {
	o.end()
	o.wheel.pool.Run(func() { o.wheel.callUpTo(1) })
}

// end takes the offer out of offered, once.
func (o *offer) end() {
	if o.begun.CompareAndSwap(false, true) {
		o.wheel.offered.Add(-1)
	}
}

// refused makes the next tick try again.
func (o *offer) refused() {
	o.end()
	w := o.wheel
	w.refused.Store(true)
	w.wakeBy(w.ticks(w.now()) + 1)
}

// failed ends an offer whose submit panicked with cause, or ended the goroutine. If the
// goroutine ended after call had begun, most likely a callback ended it, in submit, and Run
// has reported it.
func (o *offer) failed(cause any) {
	if cause == nil && o.begun.Load() {
		return
	}
	o.refused()
	o.wheel.pool.Fail(cause)
}

// errCallback is what Shutdown returns to a callback.
var errCallback = errors.New("timingwheel: Shutdown called by a callback: the wheel is stopped, but a callback cannot wait for callbacks to end")

// drained waits until no callback runs.
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

package collection

import (
	"errors"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"github.com/zeromicro/go-zero/core/timex"
	"golang.org/x/sync/errgroup"

	"github.com/pinwheel-cache/pinwheel/timingwheel/ring"
)

const (
	// workers is the most callbacks at once, unless InOrder is given.
	workers = 64

	// batch is how many timers a tick visits before it releases the lock.
	batch = 256

	// minSlots lets a delay be thirteen years at 100 µs: a ring counts 2³²
	// revolutions.
	minSlots = 1024

	// maxTicks is more than a ring counts, and small enough that the sum of two
	// does not overflow.
	maxTicks = 1 << 60

	// minSlab is for how many timers an empty wheel keeps room.
	minSlab = 1024
)

// A ticked wheel is driven by a ticker. A timer that is due stays in the due list of
// the ring until a worker claims it. So it can be removed and moved until then, and
// slow callbacks never delay the ticks.
type ticked struct {
	interval time.Duration
	execute  func(key, value any)
	workers  int
	done     chan struct{} // closed by Stop

	mu      sync.Mutex
	closed  bool
	slab    slab
	running int // workers
}

func newTicked(interval time.Duration, slots int, execute Execute) *ticked {
	return &ticked{
		interval: interval,
		execute:  execute,
		workers:  workers,
		done:     make(chan struct{}),
		slab:     newSlab(min(max(slots, minSlots), ring.MaxSlots), 0),
	}
}

// run reads the ticker until the wheel is stopped.
func (w *ticked) run(ticker timex.Ticker) {
	for {
		select {
		case _, open := <-ticker.Chan():
			if !open {
				return // the ticker was stopped elsewhere, and some panic if stopped twice
			}
			w.tick()
		case <-w.done:
			ticker.Stop()
			return
		}
	}
}

// tick moves the ring on by one tick, in batches.
func (w *ticked) tick() {
	w.mu.Lock()
	now := w.slab.ring.Now() + 1
	w.mu.Unlock()
	for done := false; !done; {
		w.mu.Lock()
		done = w.slab.ring.Advance(now, batch, hold)
		w.startWorker()
		w.mu.Unlock()
	}
}

// hold puts a timer that is due into the due list, where it waits for a worker.
func hold(uint32) int64 { return ring.Hold }

// lock checks a key and takes the lock. If it returns an error it does not hold it.
func (w *ticked) lock(key any) error {
	if !findable(key) {
		return ErrArgument
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// findable reports whether a map finds a key again: it can be hashed, and equals
// itself, unlike NaN.
func findable(key any) bool {
	same := key
	return reflect.ValueOf(key).Comparable() && same == key
}

// due returns the tick at which a delay that begins now has passed.
func (w *ticked) due(delay time.Duration) int64 {
	steps := int64((delay-1)/w.interval) + 1
	return w.slab.ring.Now() + min(steps, maxTicks)
}

func (w *ticked) SetTimer(key, value any, delay time.Duration) error {
	if err := w.lock(key); err != nil {
		return err
	}
	defer w.mu.Unlock()
	i, found := w.slab.index[key]
	if !found {
		i = w.slab.add(key)
	}
	t := &w.slab.timers[i]
	t.value, t.soon = value, false
	w.slab.ring.Set(i, w.due(delay))
	return nil
}

// MoveTimer with a delay of less than an interval fires at once, as in go-zero: the
// ticker cannot tell when such a delay has passed, and programs may rely on it. Unlike
// in go-zero, the timer does not fire again at its former time.
func (w *ticked) MoveTimer(key any, delay time.Duration) (found bool, err error) {
	if err := w.lock(key); err != nil {
		return false, err
	}
	defer w.mu.Unlock()
	i, found := w.slab.index[key]
	switch {
	case !found:
	case delay < w.interval:
		w.callSoon(i)
	default:
		w.slab.timers[i].soon = false
		w.slab.ring.Set(i, w.due(delay))
	}
	return found, nil
}

func (w *ticked) RemoveTimer(key any) (found bool, err error) {
	if err := w.lock(key); err != nil {
		return false, err
	}
	defer w.mu.Unlock()
	i, found := w.slab.index[key]
	if found {
		w.slab.drop(i)
	}
	return found, nil
}

// callSoon calls the callback of timer i in a new goroutine, as no task in the ring
// can be due before the next tick. Until the callback begins, the timer can be removed
// and moved. The lock must be held.
func (w *ticked) callSoon(i uint32) {
	if _, waits := w.slab.ring.Visit(i); !waits {
		return // it is due, or called already
	}
	w.slab.ring.Remove(i)
	w.slab.timers[i].soon = true
	go guard(func() {
		w.mu.Lock()
		if int(i) >= len(w.slab.timers) || !w.slab.timers[i].soon {
			w.mu.Unlock()
			return
		}
		t := w.slab.drop(i)
		w.mu.Unlock()
		w.execute(t.key, t.value)
	})
}

// startWorker starts one more worker if a timer is due and fewer than the limit run.
// One is enough: it starts the next when it takes a timer. The lock must be held.
func (w *ticked) startWorker() {
	if w.running < w.workers && w.slab.ring.Held() > 0 {
		w.running++
		go w.work()
	}
}

// work calls the callbacks of timers that are due until none is left. The worker is
// counted out in the critical section in which it found none, so no tick relies on a
// worker that is leaving.
func (w *ticked) work() {
	done := false
	defer func() {
		if !done { // a callback ended this goroutine by Goexit
			go w.work()
		}
	}()
	for w.callNext() {
	}
	done = true
}

// callNext calls the callback of the timer that has been due for longest. If there
// is none, it counts its worker out and returns false.
func (w *ticked) callNext() bool {
	w.mu.Lock()
	i, _, found := w.slab.ring.Take()
	if !found {
		w.running--
		w.mu.Unlock()
		return false
	}
	t := w.slab.drop(i)
	w.startWorker() // for those that are left, as this callback may block
	w.mu.Unlock()
	guard(func() { w.execute(t.key, t.value) })
	return true
}

var errGoexit = errors.New("callback called runtime.Goexit")

// guard calls f. It recovers and logs a panic; a Goexit is logged and goes on.
func guard(f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		cause := recover()
		if cause == nil {
			cause = errGoexit
		}
		logPanic(cause, debug.Stack())
	}()
	f()
	returned = true
}

// Drain removes all timers in one critical section, and calls fn without the lock.
func (w *ticked) Drain(fn func(key, value any)) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	drained := w.slab.renew()
	w.mu.Unlock()
	var calls errgroup.Group
	calls.SetLimit(w.workers)
	for _, i := range drained.index {
		calls.Go(func() error {
			t := &drained.timers[i]
			guard(func() { fn(t.key, t.value) })
			return nil
		})
	}
	return calls.Wait() // nil: the functions return no errors
}

func (w *ticked) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.slab.renew()
		close(w.done)
	}
}

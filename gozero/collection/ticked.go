package collection

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeromicro/go-zero/core/timex"
	"golang.org/x/sync/errgroup"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

const (
	// workers is the most callbacks at once, as in a wheel that goes by the clock.
	workers = 64

	// batch is how many timers a tick deals with before it lets others have the
	// lock.
	batch = 256

	// minSlots lets a delay be thirteen years at 100 µs: a ring counts 2³²
	// revolutions.
	minSlots = 1024

	// maxTicks is more than a ring counts, and so little that adding two of them
	// does not overflow.
	maxTicks = 1 << 60

	// minPlaces is how many places for timers an empty wheel keeps.
	minPlaces = 1024
)

// A ticked wheel goes by a ticker. A timer that is due stays in the due list of
// the ring until a worker claims it, so that it can be removed and moved until
// then, and so that slow callbacks never hold up the ticks.
type ticked struct {
	interval time.Duration
	execute  func(key, value any)
	pool     *runner.Pool
	hasher   hash.Hasher[any]
	done     chan struct{} // closed by Stop
	held     atomic.Int64  // timers in the due list, published when mu is given back

	mu     sync.Mutex
	closed bool
	places places
}

func newTicked(interval time.Duration, slots int, execute Execute) *ticked {
	w := &ticked{
		interval: interval,
		execute:  execute,
		hasher:   hash.New[any](),
		done:     make(chan struct{}),
		places:   newPlaces(min(max(slots, minSlots), timingwheel.MaxSlots), 0),
	}
	w.pool = runner.NewPool(workers, w.callNext, w.ready, logPanic)
	return w
}

func logPanic(recovered any, stack []byte) {
	slog.Error("collection: callback of a timing wheel panicked", "panic", recovered, "stack", string(stack))
}

// run reads the ticker until the wheel is stopped.
func (w *ticked) run(ticker timex.Ticker) {
	for {
		select {
		case _, open := <-ticker.Chan():
			if !open {
				return // somebody else has stopped it, and some panic if they are stopped twice
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
	now := w.places.ring.Now() + 1
	w.mu.Unlock()
	for done := false; !done; {
		w.mu.Lock()
		done = w.places.ring.Advance(now, batch, hold)
		w.unlock()
		w.pool.Wake()
	}
}

// hold has a timer that is due wait for a worker.
func hold(uint32) int64 { return timingwheel.Hold }

// unlock publishes held and gives the lock back.
func (w *ticked) unlock() {
	w.held.Store(int64(w.places.ring.Held()))
	w.mu.Unlock()
}

// lock checks a key and takes the lock, or returns an error and does not take it.
func (w *ticked) lock(key any) error {
	if _, err := w.hasher.Try(key); err != nil {
		return ErrArgument
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// due returns the tick at which a delay that begins now has passed.
func (w *ticked) due(delay time.Duration) int64 {
	steps := int64((delay-1)/w.interval) + 1
	return w.places.ring.Now() + min(steps, maxTicks)
}

func (w *ticked) SetTimer(key, value any, delay time.Duration) error {
	if err := w.lock(key); err != nil {
		return err
	}
	defer w.unlock()
	i, found := w.places.index[key]
	if !found {
		i = w.places.add(key)
	}
	t := &w.places.timers[i]
	t.value, t.soon = value, false
	w.places.ring.Set(i, w.due(delay))
	return nil
}

// MoveTimer with a delay of less than an interval is due at once, as in go-zero,
// where somebody may rely on it, since the ticker cannot tell when that has
// passed. But the timer does not fire again at its former time.
func (w *ticked) MoveTimer(key any, delay time.Duration) (found bool, err error) {
	if err := w.lock(key); err != nil {
		return false, err
	}
	defer w.unlock()
	i, found := w.places.index[key]
	switch {
	case !found:
	case delay < w.interval:
		w.callSoon(i)
	default:
		w.places.timers[i].soon = false
		w.places.ring.Set(i, w.due(delay))
	}
	return found, nil
}

func (w *ticked) RemoveTimer(key any) (found bool, err error) {
	if err := w.lock(key); err != nil {
		return false, err
	}
	defer w.unlock()
	i, found := w.places.index[key]
	if found {
		w.places.drop(i)
	}
	return found, nil
}

// callSoon calls the callback of timer i in a goroutine of its own: nothing in the
// ring is due before the next tick. Until it begins, the timer can be removed and
// moved. The lock must be held.
func (w *ticked) callSoon(i uint32) {
	if _, waits := w.places.ring.Visit(i); !waits {
		return // it is due, or called already
	}
	w.places.ring.Remove(i)
	w.places.timers[i].soon = true
	go w.pool.Run(func() {
		w.mu.Lock()
		if int(i) >= len(w.places.timers) || !w.places.timers[i].soon {
			w.mu.Unlock()
			return
		}
		t := w.places.drop(i)
		w.unlock()
		w.execute(t.key, t.value)
	})
}

// ready reports whether callNext would find something.
func (w *ticked) ready() bool { return w.held.Load() > 0 }

// callNext calls the callback of the timer that has been due for longest, and
// reports whether there was one.
func (w *ticked) callNext() bool {
	w.mu.Lock()
	i, _, found := w.places.ring.Take()
	if !found {
		w.unlock()
		return false
	}
	t := w.places.drop(i)
	w.unlock()
	w.pool.Wake() // for those that are left, as this callback may block
	w.execute(t.key, t.value)
	return true
}

// Drain takes all timers off under one lock, and calls fn without it.
func (w *ticked) Drain(fn func(key, value any)) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	drained := w.places.renew()
	w.unlock()
	var calls errgroup.Group
	calls.SetLimit(workers)
	for _, i := range drained.index {
		calls.Go(func() error {
			t := &drained.timers[i]
			w.pool.Run(func() { fn(t.key, t.value) })
			return nil
		})
	}
	return calls.Wait() // nil: the functions return no errors
}

func (w *ticked) Stop() {
	w.mu.Lock()
	defer w.unlock()
	if !w.closed {
		w.closed = true
		w.places.renew()
		close(w.done)
	}
}

package collection

import (
	"errors"
	"log/slog"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"github.com/zeromicro/go-zero/core/timex"
	"golang.org/x/sync/errgroup"

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
	done     chan struct{} // closed by Stop

	mu      sync.Mutex
	closed  bool
	places  places
	running int // workers
}

func newTicked(interval time.Duration, slots int, execute Execute) *ticked {
	return &ticked{
		interval: interval,
		execute:  execute,
		done:     make(chan struct{}),
		places:   newPlaces(min(max(slots, minSlots), timingwheel.MaxSlots), 0),
	}
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
		w.startWorker()
		w.mu.Unlock()
	}
}

// hold has a timer that is due wait for a worker.
func hold(uint32) int64 { return timingwheel.Hold }

// lock checks a key and takes the lock, or returns an error and does not take it.
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
// itself, as NaN and what contains it do not.
func findable(key any) bool {
	same := key
	return reflect.ValueOf(key).Comparable() && same == key
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
	defer w.mu.Unlock()
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
	defer w.mu.Unlock()
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
	defer w.mu.Unlock()
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
	go guard(func() {
		w.mu.Lock()
		if int(i) >= len(w.places.timers) || !w.places.timers[i].soon {
			w.mu.Unlock()
			return
		}
		t := w.places.drop(i)
		w.mu.Unlock()
		w.execute(t.key, t.value)
	})
}

// startWorker starts one more worker if a timer is due and there may be one. The
// lock must be held. One is enough, as it starts the next when it takes a timer.
func (w *ticked) startWorker() {
	if w.running < workers && w.places.ring.Held() > 0 {
		w.running++
		go w.work()
	}
}

// work calls the callbacks of timers that are due until none is left. The worker is
// counted out under the lock under which it found none: no tick relies on it then.
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
	i, _, found := w.places.ring.Take()
	if !found {
		w.running--
		w.mu.Unlock()
		return false
	}
	t := w.places.drop(i)
	w.startWorker() // for those that are left, as this callback may block
	w.mu.Unlock()
	guard(func() { w.execute(t.key, t.value) })
	return true
}

var errGoexit = errors.New("callback called runtime.Goexit")

// guard calls f, and logs its panic, which ends there, or its Goexit, which does not.
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
		slog.Error("collection: callback of a timing wheel panicked", "panic", cause, "stack", string(debug.Stack()))
	}()
	f()
	returned = true
}

// Drain takes all timers off under one lock, and calls fn without it.
func (w *ticked) Drain(fn func(key, value any)) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	drained := w.places.renew()
	w.mu.Unlock()
	var calls errgroup.Group
	calls.SetLimit(workers)
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
		w.places.renew()
		close(w.done)
	}
}

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

	// slots lets a delay be thirteen years at 100 µs: a ring counts 2³² revolutions.
	slots = 1024

	// batch is how many timers a tick visits before it releases the lock.
	batch = 256
)

// A ticked wheel is a ring that a ticker moves on. A timer that is due stays in the due
// list of the ring until fewer callbacks than workers run. So it can be removed and moved
// until then, and slow callbacks never delay the ticks.
type ticked struct {
	interval time.Duration
	execute  func(key, value any)
	workers  int
	done     chan struct{} // closed by Stop

	mu      sync.Mutex
	closed  bool
	running int // callbacks of timers that were due
	ring    *ring.Ring
	timers  []timer        // by their number in the ring
	index   map[any]uint32 // the number of a key's timer
}

type timer struct {
	key, value any
	soon       bool // MoveTimer has started a goroutine that is to call it
}

func newTicked(interval time.Duration, execute Execute, workers int) *ticked {
	return &ticked{
		interval: interval,
		execute:  execute,
		workers:  workers,
		done:     make(chan struct{}),
		ring:     ring.New(slots),
		index:    make(map[any]uint32),
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
	defer w.mu.Unlock()
	hold := func(uint32) int64 { return ring.Hold }
	for now := w.ring.Now() + 1; !w.ring.Advance(now, batch, hold); {
		w.callDue()
		w.mu.Unlock()
		w.mu.Lock()
	}
	w.callDue()
}

// callDue starts a worker if a timer is due and fewer than the limit run. The lock must be held.
func (w *ticked) callDue() {
	if w.running < w.workers && w.ring.Held() > 0 {
		w.running++
		go w.work()
	}
}

// work calls the callback of the timer that has been due for longest. Only here is the timer taken: it
// can be removed and moved until its callback begins.
func (w *ticked) work() {
	defer func() { // also after a Goexit
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running--
		w.callDue()
	}()
	w.mu.Lock()
	i, _, found := w.ring.Take()
	if !found {
		w.mu.Unlock()
		return
	}
	t := w.drop(i)
	w.callDue() // for the next one
	w.mu.Unlock()
	t.call(w.execute)
}

var errGoexit = errors.New("callback called runtime.Goexit")

// call calls f for a timer. It recovers and logs a panic; a Goexit is logged and goes on.
func (t timer) call(f func(key, value any)) {
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
	f(t.key, t.value)
	returned = true
}

// add makes a timer for a key, and returns its number.
func (w *ticked) add(key any) uint32 {
	room := cap(w.timers)
	w.timers = append(w.timers, timer{key: key})
	if cap(w.timers) != room {
		w.ring.Resize(cap(w.timers))
	}
	i := uint32(len(w.timers) - 1)
	w.index[key] = i
	return i
}

// drop removes timer i, whose number the last timer takes over, and returns it. The last
// of many frees their memory.
func (w *ticked) drop(i uint32) timer {
	t, last := w.timers[i], len(w.timers)-1
	w.ring.Forget(i)
	if int(i) != last {
		w.ring.Rename(uint32(last), i)
		w.timers[i] = w.timers[last]
		w.index[w.timers[i].key] = i
	}
	w.timers[last] = timer{} // keeps key and value alive no longer
	w.timers = w.timers[:last]
	delete(w.index, t.key)
	if last == 0 && cap(w.timers) > slots {
		w.clear()
	}
	return t
}

// clear removes all timers and frees their memory.
func (w *ticked) clear() {
	now := w.ring.Now()
	w.ring = ring.New(slots)
	w.ring.Advance(now, 0, nil) // visits nothing
	w.timers, w.index = nil, make(map[any]uint32)
}

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
	const most = 1 << 60 // more than a ring counts; the sum below does not overflow
	ticks := int64((delay-1)/w.interval) + 1
	return w.ring.Now() + min(ticks, most)
}

func (w *ticked) SetTimer(key, value any, delay time.Duration) error {
	if err := w.lock(key); err != nil {
		return err
	}
	defer w.mu.Unlock()
	i, found := w.index[key]
	if !found {
		i = w.add(key)
	}
	w.timers[i].value, w.timers[i].soon = value, false
	w.ring.Set(i, w.due(delay))
	return nil
}

// MoveTimer with a delay of less than an interval calls the callback at once, as in
// go-zero: the ticker cannot tell when such a delay has passed, and programs may rely on
// it. Unlike in go-zero, the timer does not fire again at its former time.
func (w *ticked) MoveTimer(key any, delay time.Duration) (found bool, err error) {
	if err := w.lock(key); err != nil {
		return false, err
	}
	defer w.mu.Unlock()
	i, found := w.index[key]
	if !found {
		return false, nil
	}
	w.timers[i].soon = delay < w.interval
	if !w.timers[i].soon {
		w.ring.Set(i, w.due(delay))
	} else if _, waits := w.ring.Visit(i); waits { // otherwise it is due already
		go w.callSoon(key)
	}
	return true, nil
}

// callSoon calls the callback of a key's timer, unless that was set, moved or removed since.
func (w *ticked) callSoon(key any) {
	w.mu.Lock()
	i, found := w.index[key]
	if !found || !w.timers[i].soon {
		w.mu.Unlock()
		return
	}
	t := w.drop(i)
	w.mu.Unlock()
	t.call(w.execute)
}

func (w *ticked) RemoveTimer(key any) (found bool, err error) {
	if err := w.lock(key); err != nil {
		return false, err
	}
	defer w.mu.Unlock()
	i, found := w.index[key]
	if found {
		w.drop(i)
	}
	return found, nil
}

// Drain removes all timers in one critical section, and calls fn without the lock.
func (w *ticked) Drain(fn func(key, value any)) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	timers := w.timers
	w.clear()
	w.mu.Unlock()
	var calls errgroup.Group
	calls.SetLimit(w.workers)
	for _, t := range timers {
		calls.Go(func() error { t.call(fn); return nil })
	}
	return calls.Wait() // nil: the functions return no errors
}

func (w *ticked) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.clear()
		close(w.done)
	}
}

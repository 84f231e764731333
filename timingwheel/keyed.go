package timingwheel

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pinwheel-cache/pinwheel/internal/hash"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A TimingWheel calls one function for keys, each at its time. A key has at most
// one timer, with a value. It is made by [New], and its methods are safe for
// concurrent use, also by callbacks.
//
// A timer fires once: never before its delay has passed, and at most one tick
// after that, if a worker is free. Until its callback begins it can be moved,
// replaced and removed, also when it is due and has to wait for a worker. What
// was done last holds. Callbacks for different keys run at the same time and in
// no particular order; so do two for one key, if its timer is set anew and due
// again while a callback for it still runs.
//
// While timers wait the wheel stays in memory, whoever else holds it.
type TimingWheel[K comparable, V any] struct {
	wheel
	shards  []atomic.Pointer[keyedShard[K, V]] // made when first used; nil again after Stop
	mask    uint64
	slots   int // of each shard's ring
	hasher  hash.Hasher[K]
	execute func(key K, value V)
	workers int
	quota   quota
}

// A Pending is a timer that waits for its time.
type Pending[K comparable, V any] struct {
	Key   K
	Value V
	Due   time.Time // when it is due, rounded up to a tick
}

// New returns a wheel with a tick of the given interval that calls execute for
// every timer that is due. The interval is how late a timer may be, and costs a
// wake-up whenever something is due, at most one per tick; 10 ms to 1 s are
// usual, and under 100 µs is refused.
//
// slots is how many ticks a revolution of the wheel has, rounded up to a power of
// two and cut at [MaxSlots]. A timer with a delay of up to a revolution is visited
// once, one of up to slots revolutions twice, and a longer one once more for each
// slots revolutions, which also wakes the wheel: so slots·interval is best about
// the usual delay. If the product is very small, there are more slots, so that a
// delay can be ten years; one of more than that may be cut.
//
// An error wraps [ErrArgument] and says what was wrong.
func New[K comparable, V any](interval time.Duration, slots int, execute func(key K, value V), opts ...Option) (*TimingWheel[K, V], error) {
	o, err := newOptions(interval, slots, opts)
	if err != nil {
		return nil, err
	}
	if execute == nil {
		return nil, fmt.Errorf("%w: no function to execute", ErrArgument)
	}
	slots = ringSlots(slots, interval)
	w := &TimingWheel[K, V]{
		shards:  make([]atomic.Pointer[keyedShard[K, V]], shardCount(slots, runtime.GOMAXPROCS(0))),
		slots:   slots,
		hasher:  hash.New[K](),
		execute: execute,
		workers: o.workers,
		quota:   quota{limit: int64(o.limit)},
	}
	w.mask = uint64(len(w.shards) - 1)
	w.wheel.init(interval, len(w.shards), o)
	w.unregister = register(o.name, w, (*TimingWheel[K, V]).Stats)
	return w, nil
}

// SetTimer sets the timer of a key to fire after a delay, with a value. If the
// key has a timer, it is moved and its value replaced. After the wheel was stopped
// the error is [ErrClosed], and [ErrFull] if the wheel is full. It wraps
// [ErrArgument] for a delay that is not positive, and for a key that cannot be
// found again: one that has a slice in an interface, and one that is not equal to
// itself.
func (w *TimingWheel[K, V]) SetTimer(key K, value V, delay time.Duration) error {
	if delay <= 0 {
		return errDelay("SetTimer", delay)
	}
	return w.set(key, value, w.in(delay))
}

// SetTimerAt is [TimingWheel.SetTimer] with a moment instead of a delay. One that
// has passed means the next tick, so that timers that were saved with
// [TimingWheel.All] can be set again after a restart. If the wall clock is changed
// later, the timer still fires after the time that it was away when it was set.
func (w *TimingWheel[K, V]) SetTimerAt(key K, value V, when time.Time) error {
	return w.set(key, value, w.at(when))
}

func (w *TimingWheel[K, V]) set(key K, value V, wait span) error {
	h, err := w.hashOf(key)
	if err != nil {
		return err
	}
	s := w.shardOf(h)
	if s == nil {
		return ErrClosed
	}
	s.mu.Lock()
	tick, err := s.put(h, key, value, wait)
	s.unlock()
	if err != nil {
		return err
	}
	w.wakeBy(tick)
	return nil
}

// MoveTimer makes the timer of a key fire after a delay from now, whether that is
// later or earlier than before, and reports whether there is one: false is said
// of a key that has none, or whose callback has begun. The error is [ErrClosed],
// or wraps [ErrArgument], as for [TimingWheel.SetTimer].
func (w *TimingWheel[K, V]) MoveTimer(key K, delay time.Duration) (bool, error) {
	if delay <= 0 {
		return false, errDelay("MoveTimer", delay)
	}
	h, err := w.hashOf(key)
	if err != nil {
		return false, err
	}
	wait := w.in(delay)
	s := w.shardOf(h)
	if s == nil {
		return false, ErrClosed
	}
	s.mu.Lock()
	tick, found, err := s.move(h, key, wait)
	s.unlock()
	if found {
		w.wakeBy(tick)
	}
	return found, err
}

// RemoveTimer takes the timer of a key off. True means that its callback will not
// be called, and false that there was none, or its callback has begun. The error
// is [ErrClosed], or wraps [ErrArgument], as for [TimingWheel.SetTimer].
func (w *TimingWheel[K, V]) RemoveTimer(key K) (bool, error) {
	h, err := w.hashOf(key)
	if err != nil {
		return false, err
	}
	s := w.shardOf(h)
	if s == nil {
		return false, ErrClosed
	}
	s.mu.Lock()
	defer s.unlock()
	return s.take(h, key)
}

// Drain takes all timers off and calls fn for each, and returns when all calls
// have ended, also those that begin after a Stop meanwhile. Each timer is given
// either to fn or to the wheel's own function, never to both. The calls are made
// by as many goroutines more as the wheel may have workers. fn may use the wheel;
// the timers that it sets stay. A panic in fn is treated as one of a callback. The
// error is [ErrClosed] after Stop, and wraps [ErrArgument] if fn is nil.
func (w *TimingWheel[K, V]) Drain(fn func(key K, value V)) error {
	if fn == nil {
		return fmt.Errorf("%w: Drain without a function", ErrArgument)
	}
	w.checkUse()
	var err error
	w.pool.Run(func() { err = w.drain(fn) }) // for Shutdown, which waits for all of it
	return err
}

func (w *TimingWheel[K, V]) drain(fn func(K, V)) error {
	var taken []places[keyed[K, V]]
	if w.stopped() {
		return ErrClosed
	}
	for s := range made(w.shards) {
		timers, err := s.steal()
		if err != nil {
			return err
		}
		taken = append(taken, timers)
	}
	w.rearm()
	w.callAll(taken, fn)
	return nil
}

// callAll calls fn for the timers that were taken, and waits for the calls.
func (w *TimingWheel[K, V]) callAll(taken []places[keyed[K, V]], fn func(K, V)) {
	var calls errgroup.Group
	calls.SetLimit(w.workers)
	for _, timers := range taken {
		for i := range timers.entries {
			if !timers.live(uint32(i)) {
				continue
			}
			calls.Go(func() error {
				t := &timers.entries[i]
				w.pool.Run(func() { fn(t.key, t.value) })
				return nil
			})
		}
	}
	_ = calls.Wait() // the functions return no errors
}

// All returns an iterator over the timers that wait, in no particular order. It
// holds no lock while the body of the loop runs, which may use the wheel; what
// changes meanwhile it may or may not see. A timer that waits all the while is
// seen exactly once.
//
// To have timers survive a restart, save what All yields before Stop, and give it
// to [TimingWheel.SetTimerAt] afterwards.
func (w *TimingWheel[K, V]) All() iter.Seq[Pending[K, V]] {
	return func(yield func(Pending[K, V]) bool) {
		for s := range made(w.shards) {
			if !s.each(yield) {
				return
			}
		}
	}
}

// Len returns the number of timers, those counted that are due and whose
// callbacks have not begun. It is never more than the limit, if there is one.
func (w *TimingWheel[K, V]) Len() int {
	if w.quota.limit > 0 {
		return int(w.quota.used.Load())
	}
	n := 0
	for s := range made(w.shards) {
		n += s.len()
	}
	return n
}

// Stats returns what the wheel has done since it was made, as it is shown by
// [stats.Handler]. What others change meanwhile it may or may not see.
func (w *TimingWheel[K, V]) Stats() stats.WheelSnapshot { return w.stats() }

// Stop takes all timers off, so that no callback begins any more but one that was
// just being called; [TimingWheel.Shutdown] waits for that too. All other methods
// return [ErrClosed] from then on, those that have no error to return find
// nothing. It may be called again, and by callbacks.
func (w *TimingWheel[K, V]) Stop() { stop(&w.wheel, w.shards) }

// Shutdown is [TimingWheel.Stop], and waits until all callbacks have ended, and
// all Drains. If ctx ends before that it returns the cause;
// it may be called again, to go on waiting. Called by a callback, of this wheel or
// another, it stops the wheel and returns an error instead of waiting for itself.
func (w *TimingWheel[K, V]) Shutdown(ctx context.Context) error {
	w.Stop()
	return w.drained(ctx)
}

func (w *TimingWheel[K, V]) hashOf(key K) (uint64, error) {
	h, err := w.hasher.Try(key)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	return h, nil
}

// shardOf returns the shard of a key with hash h, or nil after Stop. It takes bits
// of the hash that the index of the shard does not.
func (w *TimingWheel[K, V]) shardOf(h uint64) *keyedShard[K, V] {
	i := h >> 8 & w.mask
	if s := w.shards[i].Load(); s != nil {
		return s
	}
	return w.makeShard(int(i))
}

// makeShard is for the first use of shard i.
func (w *TimingWheel[K, V]) makeShard(i int) *keyedShard[K, V] {
	return makeShard(&w.wheel, &w.shards[i], func(s *keyedShard[K, V]) { s.init(w, i) })
}

func errDelay(method string, delay time.Duration) error {
	return fmt.Errorf("%w: %s with a delay of %v, want a positive one", ErrArgument, method, delay)
}

// A quota counts the timers of a wheel that has a limit.
type quota struct {
	limit int64 // 0 = none
	used  atomic.Int64
}

// take reports whether there was room for one more.
func (q *quota) take() bool {
	if q.limit == 0 {
		return true
	}
	for {
		used := q.used.Load()
		if used >= q.limit {
			return false
		}
		if q.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

func (q *quota) give(n int) {
	if q.limit > 0 {
		q.used.Add(-int64(n))
	}
}

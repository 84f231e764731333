package timingwheel

import (
	"context"
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
// A timer fires once: never before its delay has passed, and at most one tick after
// that if a worker is free, as far as the runtime's own timers are on time (on an idle
// Linux machine, up to 2 ms late). Until its callback begins it can be moved,
// replaced and removed, also when it is due and waits for a worker. The last of
// these operations wins. Callbacks for different keys run at the same time and in no
// particular order, unless [WithWorkers] says one. So do two callbacks for one key, if its timer is set again and
// due again while a callback for it still runs.
//
// While timers wait, the wheel is not garbage-collected.
type TimingWheel[K comparable, V any] struct {
	wheel
	shards  []atomic.Pointer[keyedShard[K, V]] // made when first used; nil again after Stop
	mask    uint64
	hasher  hash.Hasher[K]
	execute func(key K, value V)
	workers int
}

// A Pending is a timer that waits for its time.
type Pending[K comparable, V any] struct {
	Key   K
	Value V
	Due   time.Time // when it is due, rounded up to a tick
}

// New returns a wheel with a tick of the given interval. It calls execute for every timer
// that is due, at the next tick. The wheel wakes up at most once per interval, only when it
// has work. Usual intervals are 10 ms to 1 s; the interval must be from 100 µs to a year.
//
// slots is the number of ticks in a revolution of the wheel. It must be positive, and
// is rounded up to a power of two and cut at [ring.MaxSlots]. The wheel visits a timer
// once if its delay is at most a revolution, twice if it is at most slots revolutions,
// and once more for every further slots revolutions. Each visit may wake the wheel, so
// slots·interval is best about the usual delay. If the product is very small, the
// wheel has more slots, so that a delay can be ten years; a longer one may be cut.
//
// An error wraps [ErrArgument] and says what was wrong.
func New[K comparable, V any](interval time.Duration, slots int, execute func(key K, value V), opts ...Option) (*TimingWheel[K, V], error) {
	o, err := newOptions(interval, slots, opts)
	if err != nil {
		return nil, err
	}
	if execute == nil {
		return nil, wrongArgument("execute is nil: want a function")
	}
	slots = ringSlots(slots, interval)
	w := &TimingWheel[K, V]{
		shards:  make([]atomic.Pointer[keyedShard[K, V]], shardCount(slots, runtime.GOMAXPROCS(0))),
		hasher:  hash.New[K](),
		execute: execute,
		workers: o.workers,
	}
	w.mask = uint64(len(w.shards) - 1)
	w.wheel.init(interval, slots, len(w.shards), o)
	w.unregister = register(o.name, w, (*TimingWheel[K, V]).Stats, o.settings(interval, slots))
	return w, nil
}

// SetTimer sets the timer of a key to fire after a delay, with a value. If the
// key has a timer, it is moved and its value replaced. The error is [ErrClosed] after
// Stop, and [ErrFull] if the wheel is full. It wraps [ErrArgument] if the delay is not
// positive, or if the key cannot be found again: an interface in it holds a value that
// cannot be hashed, such as a slice, or the key is not equal to itself, such as NaN.
func (w *TimingWheel[K, V]) SetTimer(key K, value V, delay time.Duration) error {
	if delay <= 0 {
		return errDelay("SetTimer", delay)
	}
	return w.set(key, value, w.in(delay))
}

// SetTimerAt is [TimingWheel.SetTimer] with a moment instead of a delay. A moment that
// has passed means the next tick, so that timers that were saved with
// [TimingWheel.All] can be set again after a restart. The wait is measured once: a
// later change of the wall clock does not change when the timer fires.
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
// later or earlier than before. It reports whether there is a timer: false means that
// the key has none, or that its callback has begun. The error is [ErrClosed],
// or wraps [ErrArgument], as for [TimingWheel.SetTimer].
func (w *TimingWheel[K, V]) MoveTimer(key K, delay time.Duration) (bool, error) {
	if delay <= 0 {
		return false, errDelay("MoveTimer", delay)
	}
	h, hashed := w.hasher.Word(key)
	if !hashed {
		var err error
		if h, err = w.hashOf(key); err != nil {
			return false, err
		}
	}
	wait := w.in(delay)
	s := w.shardOf(h)
	if s == nil {
		return false, ErrClosed
	}
	s.mu.Lock()
	i, found := s.find(h, key)
	if found {
		if s.ring.Postpone(i, w.dueTick(wait.deadline)) {
			s.counts.moved++
			s.mu.Unlock() // nothing has changed that unlock publishes
			return true, nil
		}
	}
	tick, err := s.move(i, found, wait)
	s.unlock()
	w.wakeBy(tick)
	return found, err
}

// RemoveTimer removes the timer of a key. True means that its callback will not be
// called; false means that the key has no timer, or that its callback has begun. The
// error is [ErrClosed], or wraps [ErrArgument] for a key that cannot be found again,
// as for [TimingWheel.SetTimer].
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
	return s.removeKey(h, key)
}

// Drain removes all timers and calls fn for each. It returns when all calls have
// ended; a Stop meanwhile does not cut them short. Each timer goes either to fn or to
// the wheel's own function, never to both. The calls run in goroutines of their own,
// as many at once as the wheel may have workers. fn may use the wheel; Drain leaves
// the timers that fn sets. A panic in fn is treated as one in a callback. The error is
// [ErrClosed] after Stop, and wraps [ErrArgument] if fn is nil.
func (w *TimingWheel[K, V]) Drain(fn func(key K, value V)) error {
	if fn == nil {
		return wrongArgument("the function of Drain is nil: want one")
	}
	w.checkUse()
	var err error
	w.pool.Run(func() { err = w.drain(fn) }) // so that Shutdown waits for it
	return err
}

func (w *TimingWheel[K, V]) drain(fn func(K, V)) error {
	var taken []slab[keyed[K, V]]
	if w.stopped() {
		return ErrClosed
	}
	for s := range made(w.shards) {
		timers, err := s.takeAll()
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
func (w *TimingWheel[K, V]) callAll(taken []slab[keyed[K, V]], fn func(K, V)) {
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
// holds no lock while the loop body runs, so the body may use the wheel. Concurrent
// changes may or may not be seen. A timer that waits throughout the iteration is
// yielded exactly once.
//
// To keep timers across a restart, save what All yields before Stop, and pass it
// to [TimingWheel.SetTimerAt] afterwards.
func (w *TimingWheel[K, V]) All() iter.Seq[Pending[K, V]] {
	return func(yield func(Pending[K, V]) bool) {
		w.checkUse()
		for s := range made(w.shards) {
			if !s.each(func(t keyed[K, V], due time.Time) bool { return yield(Pending[K, V]{t.key, t.value, due}) }) {
				return
			}
		}
	}
}

// Len returns the number of timers, including those that are due and whose
// callbacks have not begun. It never exceeds the limit, if there is one.
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

// Stats returns the statistics since New, as shown by [stats.Handler]. Concurrent
// changes may or may not be counted.
func (w *TimingWheel[K, V]) Stats() stats.WheelSnapshot { return w.stats() }

// Stop removes all timers. No callback begins afterwards, except one that a worker was
// just about to call; [TimingWheel.Shutdown] waits for that too. Afterwards all other
// methods return [ErrClosed], and those without an error find no timers. Stop may be
// called again, and by callbacks.
func (w *TimingWheel[K, V]) Stop() { stop(&w.wheel, w.shards) }

// Shutdown is [TimingWheel.Stop], and then waits until all callbacks and Drains have
// ended. If ctx ends first it returns the cause of ctx; call it again to go on
// waiting. Called by a callback, of this wheel or another, it stops the wheel and
// returns an error instead of waiting for itself.
func (w *TimingWheel[K, V]) Shutdown(ctx context.Context) error {
	w.Stop()
	return w.drained(ctx)
}

func (w *TimingWheel[K, V]) hashOf(key K) (uint64, error) {
	h, err := w.hasher.Try(key)
	if err != nil {
		return 0, wrongArgument("%v", err)
	}
	return h, nil
}

// shardOf returns the shard of a key with hash h, or nil after Stop. It uses bits of
// the hash that the index of the shard does not use.
func (w *TimingWheel[K, V]) shardOf(h uint64) *keyedShard[K, V] {
	i := h >> 8 & w.mask
	if s := w.shards[i].Load(); s != nil {
		return s
	}
	return w.makeShard(int(i))
}

// makeShard makes shard i, when it is first used.
func (w *TimingWheel[K, V]) makeShard(i int) *keyedShard[K, V] {
	return makeShard(&w.wheel, &w.shards[i], func(s *keyedShard[K, V]) { s.init(w, i) })
}

func errDelay(method string, delay time.Duration) error {
	return wrongArgument("delay of %s is %v: want a positive one", method, delay)
}

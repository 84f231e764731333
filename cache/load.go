package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// ErrGoexit is what callers of Take get when the fetch that they waited for
// called [runtime.Goexit].
var ErrGoexit = errors.New("cache: fetch called runtime.Goexit")

// A PanicError is what callers of Take get when the fetch that they waited for
// panicked. The caller that ran the fetch gets the panic itself.
type PanicError struct {
	Value any    // what fetch panicked with
	Stack []byte // where, as by [debug.Stack]
}

func (e *PanicError) Error() string { return fmt.Sprintf("cache: fetch panicked: %v", e.Value) }

// Unwrap returns the error that fetch panicked with, or nil if that was none.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Take returns the value of a key, as Get does, or calls fetch for it and stores
// the result. It counts as one hit or one miss.
//
// There is one fetch per key at a time: callers that come while it runs get its
// result. But a fetch never undoes what happened since it began: after a Set,
// Del, Clear or Compute of the key its result goes to the callers it has, and
// is not stored, and a caller that comes later waits until it has ended and then
// fetches anew.
//
// Take returns the error of fetch as it is and stores nothing. A panic or
// [runtime.Goexit] of fetch goes through to the caller that ran it; the others
// get a [PanicError] or [ErrGoexit].
//
// fetch runs in the goroutine of the caller and holds no lock. It may use the
// cache, but not Take the same key, which would wait for itself, or close the
// cache.
func (c *Cache[K, V]) Take(key K, fetch func() (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: Take with a nil fetch")
	}
	if value, ok := c.Get(key); ok {
		return value, nil
	}
	value, f, err := c.board(context.Background(), key)
	if f != nil {
		// Not by pilot: fetch does not outlive this call, and so a function that
		// captures the key need not be allocated, which is most of what a hit
		// would cost.
		c.fly(f, func(context.Context) (V, error) { return fetch() }, true)
		return f.value, f.err
	}
	return value, err
}

// TakeCtx is [Cache.Take] with a context. Every caller leaves, with the cause of
// its context, when that ends: also the one that began the fetch, unless its
// context cannot end. The fetch goes on in a goroutine of its own; the context
// that it gets has the values of the first caller's and ends when all callers
// have left. What it returns then is stored all the same. A context that has
// ended already begins no fetch.
//
// A panic of a fetch that ran in a goroutine of its own goes on in the first
// caller's, without the stack of the fetch. If that caller has left, it has nobody
// to go to: the other callers get the error, and the load counts as failed.
func (c *Cache[K, V]) TakeCtx(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	if fetch == nil {
		panic("cache: TakeCtx with a nil fetch")
	}
	if value, ok := c.Get(key); ok {
		return value, nil
	}
	value, f, err := c.board(ctx, key)
	if f != nil {
		return c.pilot(ctx, f, fetch)
	}
	return value, err
}

// A flight is a load under way. Its fields but the last group are guarded by the
// lock of the shard.
type flight[K comparable, V any] struct {
	shard   *shard[K, V]
	key     K
	hash    uint64
	alone   bool          // not known to the shard: the result is for one caller and not stored
	broken  bool          // the key has been changed, and the result is not to be stored
	callers int           // that wait for the result
	left    bool          // all callers have left, and the context has ended
	done    chan struct{} // closed when the last group is set; nil as long as nobody waits for that

	ctx context.Context
	end context.CancelFunc // of ctx; nil if there is no ctx

	value V
	err   error
	how   outcome
}

func (s *shard[K, V]) newFlight(h uint64, key K) *flight[K, V] {
	return &flight[K, V]{shard: s, key: key, hash: h, callers: 1}
}

// expect says that somebody is going to wait for the flight.
func (f *flight[K, V]) expect() {
	if f.done == nil {
		f.done = make(chan struct{})
	}
}

// finish lets those who wait for the flight have the result. Nobody can join them
// any more.
func (f *flight[K, V]) finish() {
	if f.done != nil {
		close(f.done)
	}
	if f.end != nil {
		f.end()
	}
}

// An outcome is how a fetch ended.
type outcome uint8

const (
	exited outcome = iota // by Goexit: it neither returned nor panicked
	returned
	panicked
)

// board returns a value that the cache did not have a moment ago, with the flight
// of another caller, or a flight for this caller to fly.
func (c *Cache[K, V]) board(ctx context.Context, key K) (value V, mine *flight[K, V], err error) {
	h := c.hasher.Hash(key)
	if err := context.Cause(ctx); err != nil {
		return value, nil, err
	}
	s := c.shardOf(h)
	if c.hasher.Lost(key) || !c.gate.enter() { // the cache is closed
		f := s.newFlight(h, key)
		f.alone = true
		f.expect()
		return value, f, nil
	}
	for {
		value, f, role := s.assign(ctx, h, key)
		switch role {
		case arrived:
			c.gate.leave()
			return value, nil, nil
		case pilot:
			return value, f, nil
		case passenger:
			c.gate.leave()
			c.waiters.Add(1)
			if err := f.await(ctx); err != nil {
				return value, nil, err
			}
			return f.value, nil, f.err
		}
		// The flight took off before the key was changed: a new one has to wait
		// for it to land.
		select {
		case <-f.done:
		case <-ctx.Done():
			c.gate.leave()
			return value, nil, context.Cause(ctx)
		}
	}
}

// A role is what a caller without a value is to do.
type role uint8

const (
	arrived   role = iota // return the value, which is there by now
	pilot                 // fetch it
	passenger             // wait for the one who does
	standby               // wait, and then ask again
)

// assign finds out what a caller without a value is to do, and with which flight.
func (s *shard[K, V]) assign(ctx context.Context, h uint64, key K) (value V, f *flight[K, V], r role) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if i, ok := s.findLive(h, key); ok {
		return s.entries[i].value, nil, arrived
	}
	f = s.flights[key]
	switch {
	case f == nil:
		f = s.newFlight(h, key)
		if s.flights == nil {
			s.flights = make(map[K]*flight[K, V])
		}
		if ctx.Done() != nil {
			f.expect() // also the pilot
		}
		s.flights[key] = f
		return value, f, pilot
	case f.broken || f.left:
		f.expect()
		return value, f, standby
	default:
		f.expect()
		f.callers++
		return value, f, passenger
	}
}

// pilot runs the fetch of a flight: here if the caller cannot leave, else in
// another goroutine.
func (c *Cache[K, V]) pilot(ctx context.Context, f *flight[K, V], fetch func(context.Context) (V, error)) (V, error) {
	f.ctx, f.end = context.WithCancel(context.WithoutCancel(ctx))
	if ctx.Done() == nil {
		c.fly(f, fetch, true)
		return f.value, f.err
	}
	c.goFly(func() { c.fly(f, fetch, false) })
	if err := f.await(ctx); err != nil {
		var none V
		return none, err
	}
	switch f.how {
	case panicked:
		panic(f.err.(*PanicError).Value)
	case exited:
		runtime.Goexit()
	}
	return f.value, f.err
}

// goFly starts the goroutine of a flight. If the caller is a callback, which must
// not wait for callbacks, then neither may the flight that it waits for.
func (c *Cache[K, V]) goFly(fly func()) {
	if c.runner != nil && runner.InCallback() {
		runner.Go(fly)
	} else {
		go fly()
	}
}

// fly calls fetch and lands the flight, however fetch ends.
func (c *Cache[K, V]) fly(f *flight[K, V], fetch func(context.Context) (V, error), passOn bool) {
	if !f.alone {
		defer c.gate.leave()
	}
	began := c.clock.now()
	var weight uint32
	f.err = ErrGoexit // if neither of the two below comes to pass
	defer func() {
		if f.how != returned {
			if p := recover(); p != nil {
				f.how, f.err = panicked, &PanicError{p, debug.Stack()}
			}
		}
		c.observeLoad(time.Duration(c.clock.now()-began), f.err)
		c.land(f, weight)
		if f.how == panicked && passOn {
			panic(f.err.(*PanicError).Value)
		}
	}()
	value, err := fetch(f.ctx)
	if err == nil {
		weight = c.weightOf(f.key, value)
	}
	f.value, f.err, f.how = value, err, returned
}

func (c *Cache[K, V]) observeLoad(took time.Duration, err error) {
	if err == nil {
		c.loadsOK.Observe(took)
	} else {
		c.loadsFailed.Observe(took)
	}
}

// land stores the result of a flight, unless it failed or the key was changed
// meanwhile, and lets its callers have it.
func (c *Cache[K, V]) land(f *flight[K, V], weight uint32) {
	if f.alone {
		f.finish()
		return
	}
	l := c.lifeOf(f.hash, c.expireAfter)
	missing, reported := f.shard.tryLand(f, weight, l)
	for missing > 0 {
		made := c.makeRoom(f.hash, missing)
		var landed bool
		missing, landed = f.shard.tryLand(f, weight, l)
		reported = reported || made || landed
	}
	c.drive(l.deadline)
	f.finish()
	c.settle(reported) // not before: a callback may be waiting for this flight
}

// tryLand is the part of land under the lock. If there is too little room in the
// shard it returns how much is missing, and the flight goes on.
func (s *shard[K, V]) tryLand(f *flight[K, V], weight uint32, l life) (missing uint64, reported bool) {
	s.lock.Lock()
	delete(s.flights, f.key)
	if !f.broken && f.err == nil {
		missing = s.put(f.hash, f.key, f.value, weight, l)
	}
	if missing > 0 {
		s.flights[f.key] = f
	}
	return missing, s.unlock()
}

// await waits until a flight has landed. If ctx ends before, it returns the
// cause, and the caller has left the flight.
func (f *flight[K, V]) await(ctx context.Context) error {
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
	}
	f.shard.lock.Lock()
	defer f.shard.lock.Unlock()
	if f.callers--; f.callers == 0 {
		f.left = true
		f.end()
	}
	return context.Cause(ctx)
}

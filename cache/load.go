package cache

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// A load is a fetch of a key that callers share, like a call of package singleflight.
type load[K comparable, V any] struct {
	common   *common[K, V]
	began    int64
	key      K
	hash     uint64
	unshared bool            // the shard does not know it: the result is for one caller and not stored
	stale    bool            // the key was changed since: the result is not stored
	evicted  bool            // the entry was evicted since: the result is stored only if a caller waits
	renewal  bool            // the key had a value: see renewal.go
	done     chan struct{}   // closed when value, err and how are set; nil while nobody waits
	flight   *flight         // the context of the fetch, which counts the callers
	filters  []*filter[K, V] // of DelFunc, asked before the value is stored
	batch    []*load[K, V]   // in the first load of a batch: all loads of it
	mate     bool            // not the first of a batch: it ends with the first
	// stale, evicted, done and filters are guarded by the lock of the shard.

	Load[V] // the argument of the fetch of TakeWith
	weight  uint32
	keepErr time.Duration // how long Negative keeps err; 0: not at all
	absent  bool          // the fetch of a batch has left the key out

	value V
	err   error
	how   outcome
}

// newLoad returns a load that a caller with the context ctx begins. It joins the batch of
// first, if that is not nil.
func (c *common[K, V]) newLoad(ctx context.Context, h uint64, key K, first *load[K, V]) *load[K, V] {
	if first != nil {
		l := new(load[K, V])
		c.initLoad(l, h, key)
		l.flight, l.mate = first.flight, true
		return l
	}
	l := c.shardOf(h).spare.Swap(nil)
	if l == nil {
		l = newSoleLoad[K, V]()
	}
	c.initLoad(l, h, key)
	l.flight.begin(ctx, c.timeout)
	if c.canLeave(ctx) {
		l.makeDone() // the leader waits too
	}
	return l
}

func (c *common[K, V]) initLoad(l *load[K, V], h uint64, key K) {
	l.common, l.began, l.key, l.hash = c, c.clock.now(), key, h
	l.Expire = c.expireAfter
}

// newSoleLoad returns a load with a flight of its own, in one allocation.
func newSoleLoad[K comparable, V any]() *load[K, V] {
	both := new(struct {
		load   load[K, V]
		flight flight
	})
	both.load.flight = &both.flight
	return &both.load
}

// reuse keeps the load of a plain Take, which has ended, for the next load of its shard. It
// does not if another goroutine may still use it: a caller that waited for it, or the one in
// which package context watches a flight that waited for a permit.
func (c *common[K, V]) reuse(l *load[K, V]) {
	if l.done != nil || l.how != returned || c.permits.free != nil {
		return
	}
	spare, f := &c.shardOf(l.hash).spare, l.flight
	*f = flight{}
	*l = load[K, V]{flight: f}
	spare.Store(l)
}

// canLeave reports whether a caller may leave a load before the load ends.
func (c *common[K, V]) canLeave(ctx context.Context) bool { return ctx.Done() != nil || c.timeout > 0 }

// makeDone makes the channel on which callers wait for the load.
func (l *load[K, V]) makeDone() {
	if l.done == nil {
		l.done = make(chan struct{})
	}
}

// publish hands the result to the callers that wait for the load. Nobody can join it any
// more. The flight ends when all loads that share it are published.
func (l *load[K, V]) publish() {
	if l.done != nil {
		close(l.done)
	}
}

// An outcome is how a fetch ended.
type outcome uint8

const (
	exited outcome = iota // by Goexit: it neither returned nor panicked
	returned
	panicked
)

// A fetcher calls the function of one of the Takes. The load is an argument for TakeWith.
type fetcher[K comparable, V any] func(ctx context.Context, l *load[K, V]) (V, error)

// lead runs the fetch of a load: in the caller's goroutine if the caller cannot leave, else
// in another one.
func (c *Cache[K, V]) lead(ctx context.Context, l *load[K, V], fetch fetcher[K, V]) (V, error) {
	if !c.canLeave(ctx) {
		c.run(l, fetch, true)
		return l.value, l.err
	}
	c.spawn(func() { c.run(l, fetch, false) })
	if err := l.wait(ctx); err != nil {
		var none V
		return none, err
	}
	switch l.how {
	case panicked:
		panic(l.err.(*PanicError).Value)
	case exited:
		runtime.Goexit()
	}
	return l.value, l.err
}

// spawn starts the goroutine of a load. If the leader is a callback, which must not wait
// for callbacks, the load that it waits for must not wait for them either.
func (c *Cache[K, V]) spawn(run func()) {
	if c.runner != nil && runner.InCallback() {
		runner.Go(run)
	} else {
		go run()
	}
}

// run calls fetch and ends the load, however fetch ends. If repanic is set, run panics when
// fetch does.
func (c *Cache[K, V]) run(l *load[K, V], fetch fetcher[K, V], repanic bool) {
	release, err := c.permits.take(l.flight)
	if err != nil {
		l.err, l.how = err, returned
		c.end(l)
		return
	}
	defer release()   // after the value was stored
	l.err = ErrGoexit // unless fetch returns or panics
	defer func() {
		if l.how != returned {
			if p := recover(); p != nil {
				l.how, l.err = panicked, &PanicError{p, debug.Stack()}
			}
		}
		c.observeLoad(time.Duration(c.clock.now()-l.began), l)
		c.end(l)
		switch {
		case l.how == returned:
		case l.flight.kept:
			c.tellPanic(l.err)
		case l.how == panicked && repanic:
			panic(l.err.(*PanicError).Value)
		}
	}()
	value, err := fetch(l.flight, l)
	c.returned(l, value, err)
	l.how = returned
}

// failure returns the error of a load that has failed, or nil. An error that Negative keeps
// is an answer, not a failure.
func (l *load[K, V]) failure() error {
	if l.keepErr > 0 {
		return nil
	}
	return l.err
}

// returned records what a fetch has returned for the key of a load.
func (c *Cache[K, V]) returned(l *load[K, V], value V, err error) {
	switch {
	case err == nil && l.Expire >= 0 && !l.Unchanged:
		l.weight = c.weightOf(l.key, value)
	case l.batch == nil: // the error of a batch says nothing about a single key
		l.keepErr = c.keepFor(err)
	}
	l.value, l.err = value, err
}

// tellPanic reports the panic or Goexit of a load in the background, which no caller gets.
func (c *Cache[K, V]) tellPanic(err error) {
	if p, ok := err.(*PanicError); ok {
		c.onPanic(p.Value, p.Stack)
	} else {
		c.onPanic(err, nil)
	}
}

func (c *Cache[K, V]) observeLoad(took time.Duration, l *load[K, V]) {
	err := l.failure()
	if err == nil || l.how == returned && l.NotFound {
		c.loadsOK.Observe(took)
		return
	}
	c.loadsFailed.Observe(took)
	c.lastFailed.Store(&failure{time.Now(), err})
}

// A failure is the error of a load, and when it failed.
type failure struct {
	at  time.Time
	err error
}

// end ends a load and those of its batch, and hands their results to the callers.
func (c *Cache[K, V]) end(l *load[K, V]) {
	reported := c.endMates(l)
	reported = c.conclude(l) || reported
	l.publish()
	l.flight.finish()
	c.settle(reported) // after publish: a callback may wait for this load, or one of the batch
}

// conclude stores the result of a load, unless the load failed or the key was changed
// meanwhile. If it returns reported, settle must follow.
func (c *Cache[K, V]) conclude(l *load[K, V]) (reported bool) {
	if l.unshared {
		return false
	}
	u := update[K, V]{hash: l.hash, key: l.key, value: l.value, weight: l.weight, life: c.lifeOf(l.hash, max(l.Expire, 0))}
	for done := false; !done; {
		s := c.lock(l.hash)
		if filters := l.filters; len(filters) > 0 && l.err == nil && !l.stale && !l.absent {
			l.filters = nil
			s.lock.Unlock()
			c.abandon(&u)
			c.filterLoad(l, filters)
			continue
		}
		done = c.endStore(s, &u, s.endLoad(l, &u))
	}
	return u.reported
}

// endLoad is the part of conclude under the lock. If there is too little room in the shard,
// it returns how much is missing, and the load goes on.
func (s *shard[K, V]) endLoad(l *load[K, V], u *update[K, V]) (missing uint64) {
	delete(s.loads, l.key)
	s.loads = shrunk(s.loads, &s.peakLoads)
	dropped := l.stale || l.evicted && !l.flight.awaited()
	switch {
	case dropped:
	case l.err != nil:
		s.keepError(l)
	default:
		missing = s.keep(l, u)
	}
	if missing > 0 {
		s.addLoad(l)
	} else if s.due != nil {
		s.endRenewal(l, dropped)
	}
	return missing
}

// wait waits until a load has ended. If ctx ends first, the caller leaves and wait returns
// the cause of ctx. At the Timeout it returns ErrTimeout.
func (l *load[K, V]) wait(ctx context.Context) error { return l.waitUntil(ctx, nil) }

// waitUntil is wait, but the caller also leaves when its patience ends, with errOutOfPatience.
func (l *load[K, V]) waitUntil(ctx context.Context, giveUp <-chan time.Time) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		l.common.abandoned.Add(1)
		l.flight.leave(ctx)
		return context.Cause(ctx)
	case <-giveUp:
		l.flight.leave(ctx)
		return errOutOfPatience
	case <-l.flight.late:
	}
	select {
	case <-l.done: // just in time
		return nil
	default:
		return ErrTimeout
	}
}

// waitBehind waits until a load has ended that the caller cannot join: the key was changed
// after it began, or all its callers have left. Only then can another load of the key
// begin. The caller stops waiting when its patience ends.
func (l *load[K, V]) waitBehind(ctx context.Context, giveUp <-chan time.Time) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		l.common.abandoned.Add(1)
		return context.Cause(ctx)
	case <-giveUp:
		return errOutOfPatience
	case <-l.flight.late:
		return ErrTimeout
	}
}

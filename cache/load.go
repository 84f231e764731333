package cache

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// A load is a fetch of a key that callers share, as the call of a singleflight.
type load[K comparable, V any] struct {
	common   *common[K, V]
	began    int64
	key      K
	hash     uint64
	unshared bool            // the shard does not know it: the result is for one caller and not stored
	stale    bool            // the key has been changed since: the result is not to be stored
	evicted  bool            // its entry has been evicted since: the result is stored if a caller waits
	renewal  bool            // the key had a value: see renewal.go
	done     chan struct{}   // closed when the last group is set; nil while nobody waits for that
	flight   *flight         // the context of the fetch; it knows the callers
	filters  []*filter[K, V] // of DelFunc, to be asked before the value is stored
	batch    []*load[K, V]   // of the first load of a batch: all of them
	mate     bool            // another one of a batch, which ends with the first
	// stale, evicted, done and filters are guarded by the lock of the shard.

	Load[V] // what the fetch of TakeWith is told, and says
	weight  uint32
	keepErr time.Duration // how long to keep err; 0: not
	absent  bool          // the fetch of a batch has left the key out

	value V
	err   error
	how   outcome
}

// newLoad returns a load that a caller with the context ctx begins: on its own, or with
// the first one of a batch.
func (c *common[K, V]) newLoad(ctx context.Context, h uint64, key K, first *load[K, V]) *load[K, V] {
	l := &load[K, V]{common: c, began: c.clock.now(), key: key, hash: h}
	l.Expire = c.expireAfter
	if first != nil {
		l.flight, l.mate = first.flight, true
		return l
	}
	l.flight = new(flight)
	l.flight.begin(ctx, c.timeout)
	if c.canLeave(ctx) {
		l.makeDone() // the leader waits too
	}
	return l
}

// canLeave reports whether a caller may leave a load before it has ended.
func (c *common[K, V]) canLeave(ctx context.Context) bool { return ctx.Done() != nil || c.timeout > 0 }

// makeDone makes the channel for those who wait for the load.
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

// A fetcher is the function of one of the Takes. The load is for that of TakeWith.
type fetcher[K comparable, V any] func(ctx context.Context, l *load[K, V]) (V, error)

// lead runs the fetch of a load: here if the caller cannot leave, else in another
// goroutine.
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

// spawn starts the goroutine of a load. If the leader is a callback, which must not
// wait for callbacks, then neither may the load that it waits for.
func (c *Cache[K, V]) spawn(run func()) {
	if c.runner != nil && runner.InCallback() {
		runner.Go(run)
	} else {
		go run()
	}
}

// run calls fetch and ends the load, however fetch ends. With repanic a panic of
// fetch goes on.
func (c *Cache[K, V]) run(l *load[K, V], fetch fetcher[K, V], repanic bool) {
	if !l.unshared {
		defer c.gate.exit()
	}
	release, err := c.permits.take(l.flight)
	if err != nil {
		l.err, l.how = err, returned
		c.end(l)
		return
	}
	defer release()   // when the value can be found
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

// failure returns the error of a load that has failed. One that Negative keeps is none: it
// is an answer.
func (l *load[K, V]) failure() error {
	if l.keepErr > 0 {
		return nil
	}
	return l.err
}

// returned notes what a fetch has returned for the key of a load.
func (c *Cache[K, V]) returned(l *load[K, V], value V, err error) {
	switch {
	case err == nil && l.Expire >= 0 && !l.Unchanged:
		l.weight = c.weightOf(l.key, value)
	case l.batch == nil: // the error of a batch says nothing about a single key
		l.keepErr = c.keepFor(err)
	}
	l.value, l.err = value, err
}

// tellPanic reports how a load in the background ended that did not return: no caller gets
// its panic.
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

// A failure is why a load failed, and when.
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

// conclude stores the result of a load, unless that failed or the key was changed
// meanwhile. If reported, settle must follow.
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

// endLoad is the part of end under the lock. If there is too little room in the
// shard it returns how much is missing, and the load goes on.
func (s *shard[K, V]) endLoad(l *load[K, V], u *update[K, V]) (missing uint64) {
	delete(s.loads, l.key)
	s.loads = shrunk(s.loads, &s.mostLoads)
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

// wait waits until a load has ended. If ctx ends before, it returns the cause, and
// the caller waits no more; likewise at the Timeout.
func (l *load[K, V]) wait(ctx context.Context) error { return l.waitUntil(ctx, nil) }

// waitUntil is wait of a caller that also leaves, with errImpatient, when its patience ends.
func (l *load[K, V]) waitUntil(ctx context.Context, impatient <-chan time.Time) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		l.common.abandoned.Add(1)
		l.flight.leave(ctx)
		return context.Cause(ctx)
	case <-impatient:
		l.flight.leave(ctx)
		return errImpatient
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
// after it began, or all its callers have left. A new one has to wait for that, unless
// the caller loses patience.
func (l *load[K, V]) waitBehind(ctx context.Context, impatient <-chan time.Time) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		l.common.abandoned.Add(1)
		return context.Cause(ctx)
	case <-impatient:
		return errImpatient
	case <-l.flight.late:
		return ErrTimeout
	}
}

package cache

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// A load is a fetch of a key that callers share, as the call of a singleflight. Its fields but the last group are guarded by the lock
// of the shard.
type load[K comparable, V any] struct {
	shard     *shard[K, V]
	began     int64
	key       K
	hash      uint64
	unshared  bool          // the shard does not know it: the result is for one caller and not stored
	stale     bool          // the key has been changed since: the result is not to be stored
	callers   int           // that wait for the result
	abandoned bool          // no caller waits any more, and the context has ended
	done      chan struct{} // closed when the last group is set; nil while nobody waits for that

	ctx    context.Context
	cancel context.CancelFunc // of ctx; nil if there is no ctx

	value V
	err   error
	how   outcome
}

func (s *shard[K, V]) newLoad(h uint64, key K) *load[K, V] {
	return &load[K, V]{shard: s, began: s.common.clock.now(), key: key, hash: h, callers: 1}
}

// makeDone makes the channel for those who wait for the load.
func (l *load[K, V]) makeDone() {
	if l.done == nil {
		l.done = make(chan struct{})
	}
}

// publish hands the result to those who wait for the load. Nobody can join it any
// more.
func (l *load[K, V]) publish() {
	if l.done != nil {
		close(l.done)
	}
	if l.cancel != nil {
		l.cancel()
	}
}

// An outcome is how a fetch ended.
type outcome uint8

const (
	exited outcome = iota // by Goexit: it neither returned nor panicked
	returned
	panicked
)

// join finds a value that the cache did not have a moment ago, or waits for the load
// of another caller, or returns a load for this caller to lead.
func (c *Cache[K, V]) join(ctx context.Context, key K) (value V, mine *load[K, V], err error) {
	h := c.hasher.Hash(key)
	if err := context.Cause(ctx); err != nil {
		return value, nil, err
	}
	s := c.shardOf(h)
	if c.hasher.Lost(key) || !c.gate.enter() { // the cache is closed
		l := s.newLoad(h, key)
		l.unshared = true
		l.makeDone()
		return value, l, nil
	}
	for {
		value, l, role := s.assign(ctx, h, key)
		switch role {
		case finder:
			c.gate.exit()
			return value, nil, nil
		case leader:
			return value, l, nil
		case follower:
			c.gate.exit()
			c.waiters.Add(1)
			if err := l.wait(ctx); err != nil {
				return value, nil, err
			}
			return l.value, nil, l.err
		}
		// The key was changed after the load began: a new one has to wait until it
		// ends.
		select {
		case <-l.done:
		case <-ctx.Done():
			c.abandoned.Add(1)
			c.gate.exit()
			return value, nil, context.Cause(ctx)
		}
	}
}

// A role is what a caller that missed is to do.
type role uint8

const (
	finder    role = iota // return the value, which is there by now
	leader                // fetch it
	follower              // wait for the leader's result
	successor             // wait until the load has ended, and ask again
)

// assign finds out what a caller that missed is to do, and with which load.
func (s *shard[K, V]) assign(ctx context.Context, h uint64, key K) (value V, l *load[K, V], r role) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if i, ok := s.findLive(h, key); ok && s.useAt(i, h) {
		return s.entries[i].value, nil, finder
	}
	l = s.loads[key]
	switch {
	case l == nil:
		l = s.newLoad(h, key)
		if ctx.Done() != nil {
			l.makeDone() // the leader waits too
		}
		s.addLoad(l)
		return value, l, leader
	case l.stale || l.abandoned:
		l.makeDone()
		return value, l, successor
	default:
		l.makeDone()
		l.callers++
		return value, l, follower
	}
}

// lead runs the fetch of a load: here if the caller cannot leave, else in another
// goroutine.
func (c *Cache[K, V]) lead(ctx context.Context, l *load[K, V], fetch func(context.Context) (V, error)) (V, error) {
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if ctx.Done() == nil {
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
func (c *Cache[K, V]) run(l *load[K, V], fetch func(context.Context) (V, error), repanic bool) {
	if !l.unshared {
		defer c.gate.exit()
	}
	var weight uint32
	l.err = ErrGoexit // unless fetch returns or panics
	defer func() {
		if l.how != returned {
			if p := recover(); p != nil {
				l.how, l.err = panicked, &PanicError{p, debug.Stack()}
			}
		}
		c.observeLoad(time.Duration(c.clock.now()-l.began), l.err)
		c.end(l, weight)
		if l.how == panicked && repanic {
			panic(l.err.(*PanicError).Value)
		}
	}()
	value, err := fetch(l.ctx)
	if err == nil {
		weight = c.weightOf(l.key, value)
	}
	l.value, l.err, l.how = value, err, returned
}

func (c *Cache[K, V]) observeLoad(took time.Duration, err error) {
	if err == nil {
		c.loadsOK.Observe(took)
	} else {
		c.loadsFailed.Observe(took)
	}
}

// end stores the result of a load, unless that failed or the key was changed
// meanwhile, and hands it to the callers.
func (c *Cache[K, V]) end(l *load[K, V], weight uint32) {
	if l.unshared {
		l.publish()
		return
	}
	u := update[K, V]{hash: l.hash, key: l.key, value: l.value, weight: weight, life: c.lifeOf(l.hash, c.expireAfter)}
	for done := false; !done; {
		l.shard.lock.Lock()
		done = c.endStore(l.shard, &u, l.shard.endLoad(l, &u))
	}
	l.publish()
	c.settle(u.reported) // after publish: a callback may wait for this load
}

// endLoad is the part of end under the lock. If there is too little room in the
// shard it returns how much is missing, and the load goes on.
func (s *shard[K, V]) endLoad(l *load[K, V], u *update[K, V]) (missing uint64) {
	delete(s.loads, l.key)
	s.loads = shrunk(s.loads, &s.mostLoads)
	if !l.stale && l.err == nil {
		missing = s.put(u)
	}
	if missing > 0 {
		s.addLoad(l)
	}
	return missing
}

// wait waits until a load has ended. If ctx ends before, it returns the cause, and
// the caller waits no more.
func (l *load[K, V]) wait(ctx context.Context) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
	}
	l.shard.common.abandoned.Add(1)
	l.shard.lock.Lock()
	defer l.shard.lock.Unlock()
	if l.callers--; l.callers == 0 {
		l.abandoned = true
		l.cancel()
	}
	return context.Cause(ctx)
}

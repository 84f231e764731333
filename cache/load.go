// This file has the fetch of a load, and how its result is stored.

package cache

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// lead runs the fetch of a load: in the caller's goroutine if the caller cannot leave, else
// in another one. It returns why the caller has left, or nil if the load has ended.
func (c *Cache[K, V]) lead(who *caller, l *load[K, V], fetch fetcher[K, V]) error {
	if !who.canLeave() {
		c.run(l, fetch.fetch, true)
		return nil
	}
	c.spawnLoad(l, fetch)
	if err := l.wait(who, leader, nil); err != nil {
		return err
	}
	switch l.how {
	case panicked:
		panic(l.err.(*PanicError).Value)
	case exited:
		runtime.Goexit()
	}
	return nil
}

// spawnLoad runs a load in another goroutine.
func (c *Cache[K, V]) spawnLoad(l *load[K, V], fetch fetcher[K, V]) {
	c.spawn(func() {
		growStack(0)
		c.run(l, fetch.fetch, false)
	})
}

// spawn starts the goroutine of a load: a new one, as a fetch may lock its thread and leave it
// locked. If the leader is a callback, which must not wait for callbacks, the load that it waits
// for must not wait for them either.
func (c *Cache[K, V]) spawn(run func()) {
	if c.common.observers.runner != nil && runner.InCallback() {
		runner.Go(run)
	} else {
		go run()
	}
}

// growStack gives a new goroutine a stack of 16 KiB at once, by the size of its own frame. To double
// the stack step by step, with more on it at each, takes longer than a load in memory.
//
//go:noinline
func growStack(n int) byte {
	if n == 0 {
		return 0 // always
	}
	var room [12_000]byte
	room[n] = 1
	return room[n/2]
}

// run calls fetch and ends the load, however fetch ends. If repanic is set, run panics when
// fetch does.
func (c *Cache[K, V]) run(l *load[K, V], fetch func(context.Context, *load[K, V]), repanic bool) {
	permits := &c.common.loads.permits
	if err := permits.acquire(l.flight); err != nil {
		permits.release(l.flight)
		l.fail(err)
		l.how = returned
		c.concludeAll(l)
		return
	}
	defer func() {
		if l.how != returned {
			err := ErrGoexit
			if p := recover(); p != nil {
				l.how, err = panicked, &PanicError{p, debug.Stack()}
			}
			l.fail(err)
		}
		c.observeLoad(time.Duration(c.common.time.clock.Now()-l.began), l)
		c.concludeAll(l)
		switch {
		case l.how == returned:
		case l.flight.background:
			c.tellFailure(l.err)
		case l.how == panicked && repanic:
			panic(l.err.(*PanicError).Value)
		}
	}()
	runner.RunAsLoad(func() {
		l.call(fetch, permits)
		c.returned(l)
		for _, mate := range l.members() {
			c.returned(mate)
		}
	})
	l.how = returned
}

// call calls fetch and then gives back its share of a permit, however fetch ends. What follows may wait
// for a load that needs the permit: Weigh, Negative and the functions of DelFunc may call
// one of the Takes, and so may OnRemove, for which the end of the load waits.
func (l *load[K, V]) call(fetch func(context.Context, *load[K, V]), permits *permits) {
	defer permits.release(l.flight)
	fetch(l.flight, l)
}

// fail makes err, which says nothing about a single key, the result of l and of all other
// loads of its batch.
func (l *load[K, V]) fail(err error) {
	var none V
	l.value, l.err, l.keepErr, l.absent, l.ofBatch = none, err, 0, false, true
	for _, mate := range l.members() {
		mate.fail(err)
	}
}

// returned does what is left to do when a fetch has returned, for one load of its batch.
func (c *Cache[K, V]) returned(l *load[K, V]) {
	switch {
	case l.err == nil && l.Expire >= 0 && !l.Unchanged:
		l.weight = c.common.size.weightOf(l.key, l.value)
	case l.err != nil && !l.ofBatch:
		l.keepErr = c.common.loads.keepFor(l.err)
	}
}

// concludeAll ends a load and those of its batch, and hands their results to the callers.
func (c *Cache[K, V]) concludeAll(l *load[K, V]) {
	reported := false
	for _, mate := range l.members() {
		reported = c.conclude(mate) || reported
		mate.publish()
	}
	reported = c.conclude(l) || reported
	l.publish()
	l.flight.finish()
	c.common.observers.settle(reported) // after that: a callback may wait for this load, or one of the batch
}

// conclude stores the result of a load, unless the load failed or the key was changed
// meanwhile. If it returns reported, settle must follow.
func (c *Cache[K, V]) conclude(l *load[K, V]) (reported bool) {
	if l.unshared {
		return false
	}
	u := update[K, V]{hash: l.hash, key: l.key, value: l.value, weight: l.weight, life: c.common.time.lifeOf(l.hash, max(l.Expire, 0))}
	for {
		var unasked []*filter[K, V]
		c.storeUnsettled(&u, func(s *shard[K, V]) uint64 {
			if len(l.filters) > 0 && l.err == nil && !l.stale && !l.absent {
				unasked, l.filters = l.filters, nil
				return 0
			}
			return s.conclude(l, &u)
		})
		if unasked == nil {
			return u.reported
		}
		c.filterLoad(l, unasked)
	}
}

// conclude is the part of Cache.conclude under the lock. If there is too little room in the shard,
// it returns how much is missing, and the load goes on.
func (s *shard[K, V]) conclude(l *load[K, V], u *update[K, V]) (missing uint64) {
	s.pending.remove(l)
	dropped := l.stale || l.evicted && !l.flight.awaited()
	switch {
	case dropped:
	case l.err != nil:
		s.keepError(l)
	default:
		missing = s.storeResult(l, u)
	}
	if missing > 0 {
		s.pending.add(l) // it was the newest, and no other could begin under this lock
	} else if s.lives.due != nil {
		s.endRenewal(l, dropped)
	}
	return missing
}

// storeResult stores the result of a load, as its fields Expire and Unchanged say. If there is too
// little room in the shard, it returns how much is missing.
func (s *shard[K, V]) storeResult(l *load[K, V], u *update[K, V]) (missing uint64) {
	switch {
	case l.Expire < 0:
		s.del(l.hash, l.key)
		return 0
	case l.Unchanged:
		s.prolong(u)
		return 0
	}
	return s.put(u)
}

// prolong gives the present value of the key of u another life, unless it has gone.
func (s *shard[K, V]) prolong(u *update[K, V]) {
	i, ok := s.findUsable(u.hash, u.key)
	if !ok {
		return
	}
	s.setLife(i, u.life)
	s.use(i)
	if w := s.common.watch.Load(); w != nil {
		s.common.touched(w, u.hash, u.life.cap)
	}
}

// keepError keeps the error of a load, unless a DelFunc was called meanwhile: it would have
// dropped the error. The lock of the shard must be held.
func (s *shard[K, V]) keepError(l *load[K, V]) {
	if l.keepErr > 0 && !s.closed && l.filtered == 0 {
		if _, found := s.find(l.hash, l.key); found {
			s.del(l.hash, l.key) // the error is the answer now
		}
		s.common.negatives.set(l.key, l.err, l.keepErr)
	}
}

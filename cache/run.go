// This file runs a load, in the goroutine of the caller or another. After join.go; fetcher.go calls the
// function of the Take, and conclude.go ends the load.

package cache

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/pinwheel-cache/pinwheel/cache/internal/flight"
	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// lead runs the fetch of a load: in the caller's goroutine if the caller cannot leave, else
// in another one. It returns why the caller has left, or nil if the load has ended.
func (c *Cache[K, V]) lead(who *caller, l *load[K, V], fetch fetcher[K, V]) error {
	if !who.CanLeave() {
		c.run(l, fetch.fetch, true)
		return nil
	}
	c.spawnLoad(l, fetch)
	if err := l.wait(who, true, nil); err != nil {
		return err
	}
	l.rethrow()
	return nil
}

// rethrow ends the caller as its fetch has ended in another goroutine.
func (l *load[K, V]) rethrow() {
	switch l.how {
	case panicked:
		l.common.loads.made().refused.Add(1)
		panic(l.err.(*PanicError).Value)
	case exited:
		runtime.Goexit()
	}
}

// spawnLoad runs a load in another goroutine.
func (c *Cache[K, V]) spawnLoad(l *load[K, V], fetch fetcher[K, V]) {
	c.spawn(func() {
		growStack(0)
		c.run(l, fetch.fetch, false)
	})
}

// run calls fetch and ends the load, however fetch ends. If repanic is set, run panics when
// fetch does.
func (c *Cache[K, V]) run(l *load[K, V], fetch func(context.Context, *load[K, V]), repanic bool) {
	rules := &c.common.loads.rules
	var err error
	if l.gathers {
		err = c.loaders.gatherer.acquire(l, rules)
	} else {
		err = rules.Acquire(l.flight)
	}
	if err != nil {
		rules.Release(l.flight)
		l.fail(err)
		l.how, l.ended = returned, c.common.time.clock.Now()
		c.concludeAll(l)
		return
	}
	l.flight.Fetch()
	defer c.finish(l, repanic)
	runner.RunAsLoad(func() {
		l.call(fetch, rules)
		c.returned(l)
		for _, mate := range l.members() {
			c.returned(mate)
		}
	})
	l.how = returned
}

// finish ends a load when fetch has returned, panicked or called Goexit. It must be deferred.
func (c *Cache[K, V]) finish(l *load[K, V], repanic bool) {
	if l.how != returned {
		err := ErrGoexit
		if p := recover(); p != nil {
			l.how, err = panicked, &PanicError{p, debug.Stack()}
		}
		l.fail(err)
	}
	l.ended = c.common.time.clock.Now()
	c.common.count(l)
	c.concludeAll(l)
	switch {
	case l.how == returned:
	case l.flight.InBackground():
		c.tellFailure(l.err)
	case l.how == panicked && repanic:
		c.common.loads.made().refused.Add(1)
		panic(l.err.(*PanicError).Value)
	}
}

// call calls fetch and then releases its share of a permit, however fetch ends. The permit must not be
// held any longer: Weigh, ExpireBy, Negative and the functions of DelFunc may call one of the Takes, and so may
// OnRemove, for which the end of the load waits.
func (l *load[K, V]) call(fetch func(context.Context, *load[K, V]), rules *flight.Rules) {
	defer rules.Release(l.flight)
	fetch(l.flight, l)
}

// returned weighs the value that a fetch has returned for one load of its batch, or asks Negative about
// the error.
func (c *Cache[K, V]) returned(l *load[K, V]) {
	if l.err == nil && l.Expire == 0 && c.common.expireBy != nil {
		l.Expire = c.common.expireBy(l.key, l.value)
	}
	switch {
	case l.err == nil && l.Expire >= 0 && !l.Unchanged:
		l.weight = c.common.size.weightOf(l.key, l.value)
	case l.err != nil && !l.ofBatch:
		l.keepErr = c.common.loads.keepFor(l.err)
		l.pause = l.keepErr > 0 && isPause(l.err) // asked here, as err is of the user, and no lock is held
	}
	l.timedOut = l.err != nil && isTimeout(l.err) // likewise
}

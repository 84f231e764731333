// This file has Close and Wait.

package cache

import (
	"context"
	"errors"

	"github.com/pinwheel-cache/pinwheel/internal/runner"
)

// errClosed is the cause with which loads in the background end when the cache is closed.
var errClosed = errors.New("cache: the cache is closed")

// errCallback is what Close returns to OnRemove.
var errCallback = errors.New("cache: Close called by OnRemove: the cache is closed, but a callback cannot wait for callbacks to end")

// errInLoad is what Close returns to a function that a load calls.
var errInLoad = errors.New("cache: Close called by a fetch, or by Weigh, ExpireBy, Negative or a function of DelFunc for a load: the cache is closed, but they cannot wait for loads and callbacks to end")

// Wait waits until no call of OnRemove is queued or running. If ctx ends first, it
// returns the cause of ctx. While others go on removing values, Wait may never return
// otherwise. Called by OnRemove, of this cache or another, it returns an error instead of
// waiting.
func (c *Cache[K, V]) Wait(ctx context.Context) error {
	checkContext(ctx, "Wait")
	switch {
	case c.common.observers.runner == nil:
		return nil
	case runner.InCallback():
		return errors.New("cache: Wait called by OnRemove: a callback cannot wait for callbacks to end")
	}
	return c.common.observers.runner.Drain(ctx)
}

// Close empties the cache, with Cleared for OnRemove, ends the contexts of loads in the
// background, and waits until all loads and all calls of OnRemove have ended. If ctx ends
// first, Close returns the cause of ctx. Close may be called again, to go on waiting.
//
// A closed cache stays empty and can be used: Get finds nothing, Set stores
// nothing and reports nothing, and Take calls fetch for each of its callers. So a
// service that is shutting down needs no special case. The cache is gone from
// the statistics of the process, and its name is free.
//
// Called by OnRemove, of this cache or another, Close closes the cache, but
// returns an error instead of waiting, as two caches could wait for each other.
// So it does if loads or calls of OnRemove run and a fetch calls it, or another function
// that a load calls. From a goroutine that such a function starts and waits for, Close waits
// for the load.
func (c *Cache[K, V]) Close(ctx context.Context) error {
	checkContext(ctx, "Close")
	c.gate.close()
	c.common.time.stopDriver()
	c.unregister()
	c.common.watch.Load().closed()
	var loads []*load[K, V]
	for s := range c.common.all() {
		loads = s.close(loads)
		// This does not wait for OnRemove, as Close must return when ctx ends. A
		// queued event takes no more memory than its entry did.
		if !s.drop() {
			s.clear(func(bool) {})
		}
	}
	if c.common.negatives != nil {
		c.common.negatives.close()
	}
	if c.common.observers.runner != nil && runner.InCallback() {
		return errCallback
	}
	if (len(loads) > 0 || c.common.observers.runner != nil && !c.common.observers.runner.Idle()) && runner.InLoad() {
		return errInLoad
	}
	if err := c.gate.wait(ctx); err != nil {
		return err
	}
	if err := waitForAll(ctx, loads); err != nil || c.common.observers.runner == nil {
		return err
	}
	return c.common.observers.runner.Drain(ctx)
}

// close keeps the shard from beginning shared loads. It appends those under way to dst, and
// ends the contexts of those in the background.
func (s *shard[K, V]) close(dst []*load[K, V]) []*load[K, V] {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.off, s.closed = true, true
	for l := range s.pending.all() {
		l.makeDone()
		if l.flight.InBackground() {
			l.flight.End(context.Canceled, errClosed)
		}
		dst = append(dst, l)
	}
	return dst
}

// waitForAll waits until loads have ended. If ctx ends first, it returns the cause of ctx.
func waitForAll[K comparable, V any](ctx context.Context, loads []*load[K, V]) error {
	for _, l := range loads {
		select {
		case <-l.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

package near

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A breaker keeps callers from waiting for a store that does not answer: after some failures in
// a row nobody reads, until a probe in the background has got an answer.
type breaker struct {
	failures atomic.Int32  // calls in a row
	probing  chan struct{} // full while a probe runs, or looks whether one may
	probed   time.Time     // when the last probe ended; guarded by probing
}

const (
	maxFailures = 3
	longestRest = time.Second // between two probes
)

var errUnasked = errors.New("the last calls failed, and the next probe has not succeeded yet")

// askToRead calls the store to read keys, or returns an error at once if it does not answer.
func (c *Cache[K, V]) askToRead(ctx context.Context, texts []string, f func(context.Context) error) error {
	if c.breaker.failures.Load() < maxFailures || c.local.open.Err() != nil { // a closed cache has no probes
		return c.ask(ctx, f)
	}
	c.counts.unasked.Add(1)
	c.probe(texts[0])
	return fmt.Errorf("%w: %w", ErrStore, errUnasked)
}

// probe reads a key in the background, unless a probe is under way or has just ended.
func (c *Cache[K, V]) probe(text string) {
	b := &c.breaker
	select {
	case b.probing <- struct{}{}:
	default:
		return
	}
	if time.Since(b.probed) < min(c.local.link.maxLag/3, longestRest) || c.local.open.Err() != nil {
		<-b.probing
		return
	}
	go func() {
		defer func() { <-b.probing }()
		defer func() { b.probed = time.Now() }()
		_ = c.ask(c.local.open, func(ctx context.Context) error {
			_, err := c.store.Get(ctx, text)
			return err
		})
	}()
}

// ask calls the store, with the Timeout of the options.
func (c *Cache[K, V]) ask(ctx context.Context, f func(context.Context) error) error {
	within := ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	err := f(within)
	failures := &c.breaker.failures
	switch {
	case err == nil:
		if failures.Load() > 0 {
			failures.Store(0)
		}
		return nil
	case ctx.Err() == nil:
		c.counts.storeErrors.Add(1)
		if !errors.Is(err, ErrReadOnly) {
			failures.Add(1)
		}
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded): // no caller could wait any longer
		failures.Add(1)
	}
	return fmt.Errorf("%w: %w", ErrStore, err)
}

func (c *Cache[K, V]) remove(ctx context.Context, texts ...string) error {
	return c.ask(ctx, func(ctx context.Context) error { return c.store.Del(ctx, texts...) })
}

package near

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A breaker keeps callers from waiting for a server of the store that does not answer: after some
// failures in a row nobody reads, until a probe in the background has got an answer.
type breaker struct {
	failures atomic.Int32  // calls in a row
	takes    atomic.Int64  // nanoseconds within which answers come: a maximum that fades
	short    atomic.Int32  // calls in a row that callers' deadlines have ended sooner
	probing  chan struct{} // full while a probe runs, or looks whether one may
	probed   time.Time     // when the last probe ended; guarded by probing
}

const (
	maxFailures = 3
	longestRest = time.Second            // between two probes
	unknownTime = 20 * time.Millisecond  // assumed of takes until a first call is answered
	longestTime = 250 * time.Millisecond // that a sound server takes
	maxShort    = 32                     // calls in a row that deadlines end too early: one failure
)

// answered notes how long a call took.
func (b *breaker) answered(took time.Duration) {
	before := b.takes.Load()
	b.takes.Store(max(int64(min(took, longestTime)), before-before/8))
}

// reset notes that the server answers. It reports whether reads kept away from it before.
func (b *breaker) reset() (wasAway bool) {
	if b.short.Load() > 0 {
		b.short.Store(0)
	}
	return b.failures.Load() > 0 && b.failures.Swap(0) >= maxFailures
}

// ended notes a call that a caller's deadline has ended after the time took, and reports whether
// that counts as a failure of the server. It does if answers usually come in half that time. With
// a shorter deadline it may be the caller's fault, so only each maxShort-th in a row counts.
func (b *breaker) ended(took time.Duration) (failed bool) {
	return took > 2*cmp.Or(time.Duration(b.takes.Load()), unknownTime) || b.short.Add(1)%maxShort == 0
}

var errUnasked = errors.New("the last calls failed, and the next probe has not succeeded yet")

// askToRead calls the store to read keys of one server. If that server does not answer at present,
// it returns an error at once.
func (c *Cache[K, V]) askToRead(ctx context.Context, texts []string, f func(context.Context) error) error {
	b := c.servers.breaker(texts[0])
	if b.failures.Load() < maxFailures || c.local.open.Err() != nil { // a closed cache has no probes
		began := time.Now()
		defer func() { c.local.counts.storeReads.Observe(time.Since(began)) }()
		return c.ask(ctx, texts[0], c.traced("read", len(texts), f))
	}
	c.counts.unasked.Add(1)
	c.probe(b, texts[0])
	return fmt.Errorf("%w: %w", ErrStore, errUnasked)
}

// probe reads a key in the background, unless a probe is under way or has just ended.
func (c *Cache[K, V]) probe(b *breaker, text string) {
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
		_ = c.ask(c.local.open, text, func(ctx context.Context) error {
			_, err := c.store.Get(ctx, text)
			return err
		})
	}()
}

// ask calls the store, with the Timeout of the options, for keys of the server that has text.
func (c *Cache[K, V]) ask(ctx context.Context, text string, f func(context.Context) error) error {
	within := ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	began := time.Now()
	err := f(within)
	b, took := c.servers.breaker(text), time.Since(began)
	switch {
	case err == nil:
		b.answered(took)
		c.answers(b)
		return nil
	case ctx.Err() == nil:
		c.counts.storeErrors.Add(1)
		c.local.failures.noteStore(err)
		switch {
		case errors.Is(err, ErrRefused):
			c.answers(b)
		case !errors.Is(err, ErrReadOnly):
			c.fails(b, err)
		}
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded) && b.ended(took): // no caller could wait any longer
		c.fails(b, err)
	}
	return fmt.Errorf("%w: %w", ErrStore, err)
}

func (c *Cache[K, V]) answers(b *breaker) {
	if f := c.local.failures; b.reset() {
		f.takeBack(&f.storeAway, "near: the store answers again")
	}
}

func (c *Cache[K, V]) fails(b *breaker, err error) {
	f := c.local.failures
	f.noteStore(err)
	if b.failures.Add(1) >= maxFailures && c.local.open.Err() == nil {
		f.warn(&f.storeAway, "near: a server of the store does not answer: until it does, reads do not wait for it", err)
	}
}

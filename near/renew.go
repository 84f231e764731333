package near

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// The store keeps the age of values: when they are due to be loaded anew (Refresh), when their
// TTL ends, and when they are gone (Grace). Memory has a value until it is due. Whoever asks
// the store after that gets it, and one caller of the fleet also the lease on it, and loads it
// anew in the background. If that fails, the rest of the lease is the pause before the next try.

// inGrace is the error of a load that has found a value in its Grace. Memory keeps it as it
// keeps errors: a Take returns the value, for everybody else there is none, and a change of
// the key ends it.
type inGrace[V any] struct{ value V }

func (*inGrace[V]) Error() string { return "near: the value is in its Grace" }

// aging ends a load that has read an item which is due or in its Grace.
func (c *Cache[K, V]) aging(ctx context.Context, one lack[K, V], l *cache.Load[V], patience time.Duration, fetch fetcher[V]) (value V, err error) {
	read := time.Now()
	if one.item.inGrace() && one.item.Token == "" && one.item.Holder == "" { // the store cannot write
		return c.fetchUnleased(ctx, one, l, fetch)
	}
	var anew renewed[V]
	var ended <-chan struct{}
	if one.item.Token != "" {
		ended = c.renew(ctx, func(ctx context.Context) (err error) {
			anew.value, anew.err = c.fetch(ctx, one, &anew.load, c.start(ctx, true), fetch)
			anew.returned = true
			return anew.failure()
		})
	}
	if !one.item.inGrace() {
		l.Expire = c.localTTL(c.untilAsked(), one.item.TTL, read)
		return one.old, nil
	}
	if ended != nil && patience > 0 && endsWithin(ctx, ended, patience) && anew.returned && anew.failure() == nil {
		l.Expire, l.NotFound, l.KeepError = anew.load.Expire, anew.load.NotFound, anew.load.KeepError
		return anew.value, anew.err
	}
	return value, c.standingIn(one, l, read)
}

// A renewed is what a load in the background has brought.
type renewed[V any] struct {
	value    V
	err      error
	load     cache.Load[V]
	returned bool
}

// failure returns the error of a load that has found neither a value nor that there is none.
func (r *renewed[V]) failure() error {
	if r.load.NotFound {
		return nil
	}
	return r.err
}

// standingIn returns the value of an item in its Grace, which is read from the store again
// when its lease may have ended.
func (c *Cache[K, V]) standingIn(one lack[K, V], l *cache.Load[V], read time.Time) error {
	l.NotFound, l.KeepError = true, c.localTTL(c.lease, one.item.TTL+one.item.Grace, read)
	return &inGrace[V]{one.old}
}

// untilAsked is how long a value that is due stays in memory before the store is asked again
// for the lease on it: for as long as another caller may have that.
func (c *Cache[K, V]) untilAsked() time.Duration {
	if c.localExpire == 0 {
		return c.lease
	}
	return min(c.localExpire, c.lease)
}

// fetchUnleased fetches a value although the old one stands in if that fails.
func (c *Cache[K, V]) fetchUnleased(ctx context.Context, one lack[K, V], l *cache.Load[V], fetch fetcher[V]) (value V, err error) {
	read := time.Now()
	within, leave, err := c.places.enter(ctx, c.lease)
	defer leave()
	if err == nil {
		value, err = c.fetch(within, one, l, c.start(within, false), fetch)
	}
	if err == nil || l.NotFound || context.Cause(ctx) != nil {
		return value, err
	}
	return value, c.standingIn(one, l, read)
}

// renew runs a load in the background, which has as long as a lease. The channel is closed when
// it has ended, and nil if it could not begin: then the lease ends by itself.
func (c *Cache[K, V]) renew(ctx context.Context, load func(ctx context.Context) error) (ended <-chan struct{}) {
	ctx, leave, ok := c.places.try(ctx)
	if !ok {
		c.counts.refreshesSkipped.Add(1)
		return nil
	}
	done := make(chan struct{})
	begun := c.background.begin(ctx, c.lease, func(ctx context.Context) {
		defer close(done)
		defer leave()
		failed := true
		defer func() {
			if p := recover(); p != nil { // no caller could recover it
				slog.Error("near: a fetch in the background panicked", "panic", p, "stack", string(debug.Stack()))
			}
			if failed {
				c.counts.refreshesFailed.Add(1)
			}
		}()
		failed = load(ctx) != nil
		if !failed {
			c.counts.refreshes.Add(1)
		}
	})
	if !begun {
		leave()
		return nil
	}
	return done
}

// endsWithin waits for a load in the background.
func endsWithin(ctx context.Context, ended <-chan struct{}, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// awaitRenewal waits until the lease that another caller has on an item in its Grace has ended,
// for as long as patience.
func (c *Cache[K, V]) awaitRenewal(ctx context.Context, text, holder string, patience time.Duration) {
	end := time.Now().Add(patience)
	for poll := firstPoll; context.Cause(ctx) == nil && time.Now().Before(end); poll = min(2*poll, slowPoll) {
		one := c.local.waiters.add(text)
		item, err := c.get(ctx, text) // after add: the key may have changed before
		held := err == nil && item.Holder == holder
		if held {
			pause := time.Until(end)
			if !c.local.link.isOpen() || !c.local.covers(text) {
				pause = min(pause, poll)
			}
			waitForChange(ctx, one, pause)
		}
		c.local.waiters.remove(text, one)
		if !held {
			return
		}
	}
}

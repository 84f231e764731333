package near

import (
	"context"
	"time"
)

const (
	firstPoll = 10 * time.Millisecond
	slowPoll  = 250 * time.Millisecond
)

// obtain reads a key, and takes the lease on it if it is missing. While another caller has
// the lease, it waits for the change that ends the lease, or for its time to end, and polls
// the store if no source tells of changes. began is when the reading of the item began.
func (c *Cache[K, V]) obtain(ctx context.Context, text string) (item Item, began time.Time, err error) {
	began = time.Now()
	if item, err = c.getOrLease(ctx, text); err != nil || item.State != Leased {
		return item, began, err
	}
	c.counts.waits.Add(1)
	for poll := firstPoll; ; poll = min(2*poll, slowPoll) {
		one := c.local.waiters.add(text)
		began = time.Now()
		item, err = c.getOrLease(ctx, text) // again: the key may have changed before add
		if err == nil && item.State == Leased {
			pause := orDefault(item.TTL, c.lease)
			if !c.local.link.isOpen() || !c.local.covers(text) {
				pause = min(pause, poll)
			}
			waitForChange(ctx, one, pause)
			err = context.Cause(ctx)
		}
		c.local.waiters.remove(text, one)
		if err != nil || item.State != Leased {
			return item, began, err
		}
	}
}

func waitForChange(ctx context.Context, one *waiter, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-one.changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// getOrLease reads a key once, and takes the lease if the store has leases.
func (c *Cache[K, V]) getOrLease(ctx context.Context, text string) (item Item, err error) {
	if c.leaser == nil {
		return c.get(ctx, text)
	}
	err = c.ask(ctx, func(ctx context.Context) error {
		items, err := c.leaser.Lease(ctx, c.lease, text)
		if err == nil {
			item = items[0]
		}
		return err
	})
	return item, err
}

// release gives a lease back, so that others can load the key. If that fails, the lease
// ends after its time.
func (c *Cache[K, V]) release(ctx context.Context, text, token string) {
	_ = c.ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return c.leaser.Release(ctx, text, token)
	})
}

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
// the store if no source tells of changes. It waits for one lease only: if that has ended
// without a value and others hold the next one, the item is Missing, without a Token. So
// those who have waited fetch side by side, not one after the other. began is when the reading
// of the item began.
func (c *Cache[K, V]) obtain(ctx context.Context, key K, text string) (item Item, began time.Time, err error) {
	began = time.Now()
	if item, err = c.getOrLease(ctx, key, text); err != nil || item.State != Leased {
		return item, began, err
	}
	c.counts.waits.Add(1)
	waitedFor, end := item.Holder, began.Add(orDefault(item.TTL, c.lease))
	for poll := firstPoll; ; poll = min(2*poll, slowPoll) {
		one := c.local.waiters.add(text)
		began = time.Now()
		item, err = c.getOrLease(ctx, key, text) // again: the key may have changed before add
		if err == nil && item.State == Leased && (item.Holder != waitedFor || !began.Before(end)) {
			item = Item{State: Missing}
		}
		if err == nil && item.State == Leased {
			pause := min(orDefault(item.TTL, c.lease), time.Until(end))
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

// A lease is one that another caller has.
type lease struct {
	text, holder string
	end          time.Time
}

// await waits until leases have ended.
func (c *Cache[K, V]) await(ctx context.Context, held []lease) {
	c.counts.waits.Add(uint64(len(held)))
	for poll := firstPoll; len(held) > 0 && context.Cause(ctx) == nil; poll = min(2*poll, slowPoll) {
		waiting := make(map[string]*waiter, len(held))
		for _, one := range held {
			waiting[one.text] = c.local.waiters.add(one.text)
		}
		held = c.stillHeld(ctx, held) // after add: a key may have changed before
		for _, one := range held {
			pause := time.Until(one.end)
			if !c.local.link.isOpen() || !c.local.covers(one.text) {
				pause = min(pause, poll)
			}
			waitForChange(ctx, waiting[one.text], pause)
		}
		for text, one := range waiting {
			c.local.waiters.remove(text, one)
		}
	}
}

// stillHeld returns the leases that have not ended, and none if the store cannot be asked.
func (c *Cache[K, V]) stillHeld(ctx context.Context, held []lease) (still []lease) {
	texts := make([]string, len(held))
	for i, one := range held {
		texts[i] = one.text
	}
	var items []Item
	err := c.ask(ctx, func(ctx context.Context) (err error) {
		items, err = c.store.Get(ctx, texts...)
		return err
	})
	if err != nil {
		return nil
	}
	for i, one := range held {
		if items[i].State == Leased && items[i].Holder == one.holder && time.Now().Before(one.end) {
			still = append(still, one)
		}
	}
	return still
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

// getOrLease reads a key once, and takes the lease if the store has leases and the key may
// exist.
func (c *Cache[K, V]) getOrLease(ctx context.Context, key K, text string) (item Item, err error) {
	if c.leaser == nil || !c.mayExist(key) {
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

// release gives a lease back, so that others can load the key, or know that nobody does. If that
// fails, the lease ends after its time.
func (c *Cache[K, V]) release(ctx context.Context, text, token string) {
	_ = c.ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return c.leaser.Release(ctx, text, token)
	})
}

package near

import (
	"cmp"
	"context"
	"errors"
	"time"
)

const (
	firstPoll = 10 * time.Millisecond
	slowPoll  = 250 * time.Millisecond
)

// read sets item, began and err of lookups. For a Take it takes leases on missing keys that may
// exist.
func (c *Cache[K, V]) read(ctx context.Context, all []*lookup[K, V], take bool) {
	var toRead, toLease []*lookup[K, V]
	for _, one := range all {
		if one.err = nil; c.undone.has(one.text) {
			one.err = errUndone
		} else if take && c.leaser != nil && !one.phantom {
			toLease = append(toLease, one)
		} else {
			toRead = append(toRead, one)
		}
	}
	eachServer(&c.servers, toLease, (*lookup[K, V]).keyInStore, func(of []*lookup[K, V]) { c.readAtOnce(ctx, of, true) })
	eachServer(&c.servers, toRead, (*lookup[K, V]).keyInStore, func(of []*lookup[K, V]) { c.readAtOnce(ctx, of, false) })
}

// readAtOnce reads keys of one server.
func (c *Cache[K, V]) readAtOnce(ctx context.Context, all []*lookup[K, V], lease bool) {
	began := time.Now()
	items, err := c.items(ctx, texts(all), lease)
	for i, one := range all {
		if one.began, one.err = began, err; err == nil {
			one.item = items[i]
		}
	}
}

// items reads keys of one server, and takes leases on missing ones. If the store refuses to write,
// nobody can store a value that ends a lease. Then keys that others have leased count as missing.
func (c *Cache[K, V]) items(ctx context.Context, texts []string, lease bool) (items []Item, err error) {
	if lease {
		err = c.askToRead(ctx, texts, func(ctx context.Context) (err error) {
			items, err = c.leaser.Lease(ctx, c.lease, texts...)
			return err
		})
		if !errors.Is(err, ErrReadOnly) {
			return items, err
		}
	}
	refused := err != nil
	err = c.askToRead(ctx, texts, func(ctx context.Context) (err error) {
		items, err = c.store.Get(ctx, texts...)
		return err
	})
	for i := range items {
		if refused && items[i].State == Leased {
			items[i] = Item{}
		}
	}
	return items, err
}

// await waits for another caller that loads a key, until a change ends the lease or its time is
// over. It waits no longer than a lease of this cache lasts: others may take theirs for a day, or
// for ever. It polls the store if no source tells of changes. It waits for one lease only: if the
// key has another one then, the first load has brought nothing, and the next may not either.
func (c *Cache[K, V]) await(ctx context.Context, one *lookup[K, V]) {
	c.counts.waits.Add(1)
	ctx, ended := c.span(ctx, Span{Name: "lease", Keys: 1})
	defer func() { ended(SpanEnd{Outcome: one.awaited(), Err: one.err}) }()
	lease, end := one.item.Token, time.Now().Add(c.lease)
	for poll := firstPoll; ; poll = min(2*poll, slowPoll) {
		w := c.local.waiters.add(one.text)
		c.read(ctx, []*lookup[K, V]{one}, true) // again: the key may have changed before add
		same := one.err == nil && one.item.State == Leased && one.item.Token == lease && time.Now().Before(end)
		if same {
			pause := min(cmp.Or(one.item.TTL, c.lease), time.Until(end))
			if !c.local.link.isOpen() || !c.local.told(one.text) {
				pause = min(pause, poll)
			}
			wait(ctx, pause, w.changed)
			one.err = context.Cause(ctx)
		}
		c.local.waiters.remove(one.text, w)
		if !same || one.err != nil {
			return
		}
	}
}

// release gives the lease on a key back, if there is one, so that others can load the key. If
// that fails, the lease ends after its time.
func (c *Cache[K, V]) release(ctx context.Context, one *lookup[K, V]) {
	if one.item.Token == "" {
		return
	}
	_ = c.ask(context.WithoutCancel(ctx), one.text, c.traced("release", 1, func(ctx context.Context) error {
		return c.leaser.Release(ctx, one.text, one.item.Token)
	}))
}

package cache

import (
	"context"
	"errors"
	"time"
)

// A want is the state of a call of one of the Takes that the cache could not answer at
// once.
type want struct {
	background bool // a renewal may go on without the caller: it is not a plain Take
	patient    bool // it waits for a load although a value in Grace could stand in
	inGrace    bool // there is such a value
	found      bool // it got a value that the cache had
	timer      *time.Timer
}

var errImpatient = errors.New("cache: the caller waits no longer")

// impatience returns a channel on which the caller's patience ends; nil means never.
func (w *want) impatience(patience time.Duration) <-chan time.Time {
	if !w.background || !w.patient || !w.inGrace {
		return nil
	}
	if w.timer == nil {
		w.timer = time.NewTimer(patience)
	}
	return w.timer.C
}

// obtain is a Take after its first look.
func (c *Cache[K, V]) obtain(ctx context.Context, key K, seen sight, value V, fetch fetcher[K, V]) (V, error) {
	if seen == isDue {
		c.renew(ctx, key, fetch)
		return value, nil
	}
	w := want{background: true, patient: c.patience > 0}
	if seen == inGrace {
		defer c.count(key, &w)
	}
	value, l, err := c.join(ctx, key, &w, fetch)
	if l != nil {
		value, err = c.lead(ctx, l, fetch)
	}
	return c.orStandIn(ctx, key, &w, value, err)
}

// obtainHere is obtain for a plain Take. It does not let fetch escape: a function that
// captures the key would be allocated, which is most of the cost of a hit.
func (c *Cache[K, V]) obtainHere(key K, seen sight, fetch func() (V, error)) (V, error) {
	w := want{patient: true}
	if seen == inGrace {
		defer c.count(key, &w)
	}
	value, l, err := c.join(context.Background(), key, &w, nil)
	if l != nil {
		c.run(l, func(context.Context, *load[K, V]) (V, error) { return fetch() }, true)
		value, err = l.value, l.err
	}
	return c.orStandIn(context.Background(), key, &w, value, err)
}

// count counts a Take that has seen a value in Grace, when it has a result.
func (c *Cache[K, V]) count(key K, w *want) {
	s, r := c.rlock(c.hasher.Hash(key))
	if w.found {
		s.lock.RUnlockHit(r)
		return
	}
	s.missesExpired.Add(1)
	s.lock.RUnlockMiss(r)
}

// orStandIn returns the result of a Take, or a value that stands in if the load has failed.
func (c *Cache[K, V]) orStandIn(ctx context.Context, key K, w *want, value V, err error) (V, error) {
	if err != nil && ctx.Err() == nil {
		if value, ok := c.standIn(key); ok {
			w.found = true
			return value, nil
		}
	}
	return value, err
}

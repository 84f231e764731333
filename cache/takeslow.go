package cache

import (
	"context"
	"errors"
	"time"
)

// A caller is a call of one of the Takes that found no value to return at once.
type caller struct {
	background bool // may begin a load that goes on without it: not a plain Take
	patient    bool // waits for a load even if a value in Grace could stand in
	inGrace    bool // there is such a value
	found      bool // has got a value that the cache had
	timer      *time.Timer
}

var errOutOfPatience = errors.New("cache: the caller waits no longer")

// patienceEnds returns a channel that receives when the caller's patience ends; nil means
// never.
func (who *caller) patienceEnds(patience time.Duration) <-chan time.Time {
	if !who.background || !who.patient || !who.inGrace {
		return nil
	}
	if who.timer == nil {
		who.timer = time.NewTimer(patience)
	}
	return who.timer.C
}

// takeSlow is Take after its first look. It does not let fetch escape: a function that
// captures the key would be allocated, which is most of the cost of a hit.
func (c *Cache[K, V]) takeSlow(key K, seen lookup, fetch func() (V, error)) (V, error) {
	who := caller{patient: true}
	if seen == inGrace {
		defer c.count(key, &who)
	}
	value, l, err := c.join(context.Background(), key, &who, nil)
	if l != nil {
		c.run(l, func(context.Context, *load[K, V]) (V, error) { return fetch() }, true)
		value, err = l.value, l.err
		c.reuse(l)
	}
	return c.orStandIn(context.Background(), key, &who, value, err)
}

// takeSlowCtx is TakeCtx or TakeWith after its first look, which found value.
func (c *Cache[K, V]) takeSlowCtx(ctx context.Context, key K, seen lookup, value V, fetch fetcher[K, V]) (V, error) {
	if seen == isDue {
		c.renew(ctx, key, fetch)
		return value, nil
	}
	who := caller{background: true, patient: c.patience > 0}
	if seen == inGrace {
		defer c.count(key, &who)
	}
	value, l, err := c.join(ctx, key, &who, fetch)
	if l != nil {
		value, err = c.lead(ctx, l, fetch)
	}
	return c.orStandIn(ctx, key, &who, value, err)
}

// count counts the hit or miss of a caller that saw a value in Grace, once it has a result.
func (c *Cache[K, V]) count(key K, who *caller) {
	s, r := c.rlock(c.hasher.Hash(key))
	if who.found {
		s.lock.RUnlockHit(r)
		return
	}
	s.missesExpired.Add(1)
	s.lock.RUnlockMiss(r)
}

// orStandIn returns the result of a Take or, if the load has failed, a value that stands in.
func (c *Cache[K, V]) orStandIn(ctx context.Context, key K, who *caller, value V, err error) (V, error) {
	if err != nil && ctx.Err() == nil {
		if value, ok := c.standIn(key); ok {
			who.found = true
			return value, nil
		}
	}
	return value, err
}

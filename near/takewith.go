package near

import (
	"context"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// TakeWith is [Cache.Take] for a fetch that knows more than the value. Its Load is about the
// value in the store:
//
//   - Old, if HasOld, is the value that is due or in its Grace. With Unchanged it gets a new TTL.
//   - Expire is the TTL in the store, at first that of the options. 0 means for ever; with a
//     negative one the value goes to those who wait for it, and the store has none afterwards.
//   - NotFound makes any error one of a key without a value. The store keeps that for KeepError,
//     or NotFoundExpire if that is 0; with a negative KeepError it does not. Other instances
//     get the error NotFound of the options.
//   - KeepError of another error is for how long this instance keeps it, before Negative is
//     asked.
//
// Jitter applies to all three times. While the store cannot be asked, only a negative Expire and NotFound count.
func (c *Cache[K, V]) TakeWith(ctx context.Context, key K, fetch func(ctx context.Context, l *cache.Load[V]) (V, error)) (V, error) {
	if fetch == nil {
		panic("near: fetch of TakeWith is nil: want a function")
	}
	if l := c.local; l.serves() { // as in Take
		if value, ok := l.cache.Get(key); ok {
			return c.own(value), nil
		}
	}
	return c.missed(ctx, key, fetch)
}

package gozero

import (
	"context"
	"time"
)

// Del is [Cache.DelCtx] without a context.
func (c *Cache) Del(keys ...string) error { return c.DelCtx(context.Background(), keys...) }

// DelCtx removes keys. When it has returned, no caller in this process gets the old values;
// other instances may return them for MaxLag at most. If Redis cannot be reached, DelCtx
// returns nil, as in go-zero's cache, and tries again for up to an hour; until then all
// instances serve what Redis has.
func (c *Cache) DelCtx(ctx context.Context, keys ...string) error {
	defer c.local.Forget(keys...) // after Redis, even after an error
	return c.inner.DelCtx(ctx, keys...)
}

// DelPrefix removes all keys that begin with prefix from all nodes, whoever has stored them, and then waits for MaxLag.
// An empty prefix removes everything. When it has returned without an error, no instance whose MaxLag is not longer
// serves from memory what was there before. What a query under way has found go-zero's cache may store later, as after
// Del. The user of Redis needs the rights for SCAN and UNLINK.
//
// It returns how many keys were removed, also with an error, which says which node could not be asked: call it again.
// If ctx ends while it waits, it returns the cause of ctx, and the keys are removed.
func (c *Cache) DelPrefix(ctx context.Context, prefix string) (removed int, err error) {
	removed, err = c.ring.delPrefix(ctx, prefix)
	c.local.ForgetPrefix(prefix) // even after an error
	if err != nil {
		return removed, err
	}
	lag := time.NewTimer(c.maxLag + max(c.maxLag/50, 50*time.Millisecond)) // clocks of others may be slower
	defer lag.Stop()
	select {
	case <-lag.C:
		return removed, nil
	case <-ctx.Done():
		return removed, context.Cause(ctx)
	}
}

// Get is [Cache.GetCtx] without a context.
func (c *Cache) Get(key string, v any) error { return c.GetCtx(context.Background(), key, v) }

// GetCtx fills v with the value of a key. If there is none, it returns an error that
// IsNotFound recognizes. A hit in memory does not look at ctx. GetCtx waits for a running
// query of the same key, so a query must not Get its own key.
func (c *Cache) GetCtx(ctx context.Context, key string, v any) error { return c.get(ctx, key, v) }

// IsNotFound reports whether an error is the notFound given to New.
func (c *Cache) IsNotFound(err error) bool { return c.inner.IsNotFound(err) }

// Set is [Cache.SetCtx] without a context.
func (c *Cache) Set(key string, v any) error { return c.SetCtx(context.Background(), key, v) }

// SetCtx stores a value in Redis, with the TTL of go-zero's options.
func (c *Cache) SetCtx(ctx context.Context, key string, v any) error {
	defer c.local.Forget(key) // not stored in memory: another instance may write to Redis before that
	return c.inner.SetCtx(ctx, key, v)
}

// SetWithExpire is [Cache.SetWithExpireCtx] without a context.
func (c *Cache) SetWithExpire(key string, v any, expire time.Duration) error {
	return c.SetWithExpireCtx(context.Background(), key, v, expire)
}

// SetWithExpireCtx stores a value in Redis, with a TTL.
func (c *Cache) SetWithExpireCtx(ctx context.Context, key string, v any, expire time.Duration) error {
	defer c.local.Forget(key)
	return c.inner.SetWithExpireCtx(ctx, key, v, expire)
}

// Take is [Cache.TakeCtx] without a context.
func (c *Cache) Take(v any, key string, query func(v any) error) error {
	return c.TakeCtx(context.Background(), v, key, query)
}

// TakeCtx fills v with the value of a key: from memory, from Redis, or by query, whose
// result go-zero's cache stores in Redis. One query runs per key at a time; callers that come
// meanwhile wait for it, and also get its error, but not those that come after a change of the
// key. Each caller gets a value of its own, which it may change. A hit in memory does not look
// at ctx.
func (c *Cache) TakeCtx(ctx context.Context, v any, key string, query func(v any) error) error {
	return c.take(ctx, v, key, func(v any, _ time.Duration) error { return query(v) })
}

// TakeWithExpire is [Cache.TakeWithExpireCtx] without a context.
func (c *Cache) TakeWithExpire(v any, key string, query func(v any, expire time.Duration) error) error {
	return c.TakeWithExpireCtx(context.Background(), v, key, query)
}

// TakeWithExpireCtx is [Cache.TakeCtx] with a query that gets the TTL in Redis.
func (c *Cache) TakeWithExpireCtx(ctx context.Context, v any, key string, query func(v any, expire time.Duration) error) error {
	return c.take(ctx, v, key, query)
}

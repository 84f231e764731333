package gozero

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/zeromicro/go-zero/core/jsonx"
	"github.com/zeromicro/go-zero/core/logx"

	pinwheel "github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/near"
)

// placeholder is what go-zero stores for a key without a value. It is not valid JSON.
const placeholder = "*"

var (
	errMissing = errors.New("near/gozero: Redis has nothing for the key")
	errUnread  = errors.New("near/gozero: go-zero's cache has to be asked")
)

// read reads a key for a load of local, which keeps the result. Only what a load has read
// from Redis is kept, never the result of a query: go-zero stores that even if the row has
// changed meanwhile. And if go-zero cannot store it, a removal of the key changes nothing in
// Redis, so no change is told.
//
// The error is errMissing, errUnread, or notFound wrapped by near.KeepError.
func (c *Cache) read(ctx context.Context, key string, l *pinwheel.Load[[]byte]) ([]byte, error) {
	served := l.Expire >= 0
	l.Expire = -1
	if !served {
		return nil, errUnread
	}
	began := time.Now()
	item, err := c.ring.node(key).get(ctx, key)
	switch {
	case err != nil:
		c.counts.storeErrors.Add(1)
		if ctx.Err() == nil {
			c.local.StoreFailed(err)
		}
		return nil, errUnread
	case item.State == near.Absent, item.State == near.Leased, item.State == near.Broken: // written by other programs
		return nil, errUnread
	case item.State == near.Missing, len(item.Value) == 0: // go-zero takes the empty value for none
		l.NotFound = true
		return nil, errMissing
	}
	c.counts.remoteHits.Add(1)
	if string(item.Value) == placeholder {
		l.NotFound = true
		return nil, near.KeepError(c.notFound, c.ttl(item.TTL, began))
	}
	l.Expire = c.ttl(item.TTL, began)
	return item.Value, nil
}

// ttl returns the TTL in memory, before jitter, of a value with the TTL inRedis; 0 means for
// ever. The reading of the value began at began. The result is negative if the value has
// expired since.
func (c *Cache) ttl(inRedis time.Duration, began time.Time) time.Duration {
	if inRedis == 0 {
		return c.expire
	}
	left := time.Duration(float64(inRedis-time.Since(began)) / (1 + jitter))
	switch {
	case left <= 0:
		return -1
	case c.expire == 0:
		return left
	}
	return min(c.expire, left)
}

// take is TakeWithExpireCtx.
func (c *Cache) take(ctx context.Context, v any, key string, query func(v any, expire time.Duration) error) error {
	for {
		asked := false // go-zero's cache was asked, and has filled v
		// No caller leaves before its query has returned, as the query writes to variables
		// of the caller. ctx still ends the query itself, and the calls of Redis.
		data, err := c.local.Take(context.WithoutCancel(ctx), key, func(_ context.Context, l *pinwheel.Load[[]byte]) ([]byte, error) {
			data, err := c.read(ctx, key, l)
			if err != errMissing && err != errUnread {
				return data, err
			}
			asked = true
			if err == errMissing {
				c.counts.fetches.Add(1)
			}
			if err := c.inner.TakeWithExpireCtx(ctx, v, key, query); err != nil {
				l.NotFound = c.IsNotFound(err)
				return nil, err
			}
			return jsonx.Marshal(v) // for the callers that wait
		})
		switch {
		case asked:
			return err
		case err == errMissing || err == errUnread: // the result of a Get that this call joined
			continue
		case err != nil:
			c.countHit(err)
			return err
		}
		if c.decode(ctx, key, data, v) {
			c.countHit(nil)
			return nil
		}
		// go-zero's cache logs what cannot be decoded, removes it, and calls query.
		defer c.local.Forget(key)
		return c.inner.TakeWithExpireCtx(ctx, v, key, query)
	}
}

// get is GetCtx.
func (c *Cache) get(ctx context.Context, key string, v any) error {
	data, err := c.local.Take(ctx, key, func(ctx context.Context, l *pinwheel.Load[[]byte]) ([]byte, error) {
		return c.read(ctx, key, l)
	})
	switch {
	case err == errMissing:
		c.stat.IncrementTotal()
		c.stat.IncrementMiss()
		return c.notFound
	case c.IsNotFound(err):
		c.countHit(err)
		return err
	case err == nil && c.decode(ctx, key, data, v):
		c.countHit(nil)
		return nil
	}
	defer c.local.Forget(key) // go-zero's cache removes what cannot be decoded
	return c.inner.GetCtx(ctx, key, v)
}

// decode fills v, and reports whether it could. If a method of v panics or calls
// runtime.Goexit, it removes the key from Redis: go-zero's cache would do the same, for every
// caller, as long as the value is there.
func (c *Cache) decode(ctx context.Context, key string, data []byte, v any) (ok bool) {
	returned := false
	defer func() {
		if p := recover(); !returned {
			c.counts.undecodable.Add(1)
			logx.WithContext(ctx).Errorf("cache(%s) - key %q is removed, as decoding it panicked: %v\n%s", c.ring.name, key, p, debug.Stack())
			_ = c.DelCtx(ctx, key)
		}
	}()
	err := jsonx.Unmarshal(data, v)
	returned = true
	if err != nil {
		c.counts.undecodable.Add(1)
		c.local.StoreFailed(err)
	}
	return err == nil
}

// countHit adds an answer from memory, or from Redis past go-zero's cache, to the counts of
// go-zero's minute line. That counts no errors but "not found".
func (c *Cache) countHit(err error) {
	if err == nil || c.IsNotFound(err) {
		c.stat.IncrementTotal()
		c.stat.IncrementHit()
	}
}

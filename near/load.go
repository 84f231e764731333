package near

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// load finds the value of a key in the store, or fetches it.
func (c *Cache[K, V]) load(ctx context.Context, key K, l *cache.Load[V], fetch func(context.Context) (V, error)) (V, error) {
	text := c.local.key(key)
	for again := false; ; again = true {
		item, began, err := c.obtain(ctx, text)
		if err != nil {
			return c.withoutStore(ctx, key, l, err, fetch)
		}
		if item.State == Missing {
			return c.fetch(ctx, key, item.Token, l, fetch)
		}
		found, err := c.found(ctx, text, item, began, l)
		if errors.Is(err, errDecode) && !again {
			if err = c.remove(ctx, text); err == nil {
				continue
			}
		}
		return found, err
	}
}

// read is load without a fetch, for Get.
func (c *Cache[K, V]) read(ctx context.Context, key K, l *cache.Load[V]) (V, error) {
	text := c.local.key(key)
	began := time.Now()
	item, err := c.get(ctx, text)
	switch {
	case err != nil:
		return c.withoutStore(ctx, key, l, err, nil)
	case item.State == Missing, item.State == Leased:
		var none V
		l.NotFound = true
		return none, errMissing
	}
	return c.found(ctx, text, item, began, l)
}

func (c *Cache[K, V]) get(ctx context.Context, text string) (item Item, err error) {
	err = c.ask(ctx, func(ctx context.Context) error {
		items, err := c.store.Get(ctx, text)
		if err == nil {
			item = items[0]
		}
		return err
	})
	return item, err
}

var errDecode = errors.New("near: the store has a value that cannot be decoded")

// found returns the result of a load that has read a Found or Absent item. began is when the
// reading began.
func (c *Cache[K, V]) found(ctx context.Context, text string, item Item, began time.Time, l *cache.Load[V]) (value V, err error) {
	c.counts.remoteHits.Add(1)
	if item.State == Absent {
		l.NotFound = true
		return value, KeepError(c.notFound, c.localTTL(c.notFoundExpire, item.TTL, began))
	}
	if value, err = c.decode(ctx, text, item.Value); err != nil {
		return value, fmt.Errorf("%w: %w", errDecode, err)
	}
	l.Expire = c.localTTL(c.localExpire, item.TTL, began)
	return value, nil
}

// decode decodes a value. After runtime.Goexit nobody gets an error, so it removes the value
// itself.
func (c *Cache[K, V]) decode(ctx context.Context, text string, data []byte) (V, error) {
	exited := true
	defer func() {
		if exited {
			_ = c.remove(ctx, text)
		}
	}()
	value, err := convert(c.values.Decode, data)
	exited = false
	return value, err
}

func (c *Cache[K, V]) remove(ctx context.Context, texts ...string) error {
	return c.ask(ctx, func(ctx context.Context) error { return c.store.Del(ctx, texts...) })
}

// fetch calls the function of a Take and stores the result, under a lease if there is one.
// Without a lease nothing is kept in memory: the next caller reads it from the store.
func (c *Cache[K, V]) fetch(ctx context.Context, key K, token string, l *cache.Load[V], fetch func(context.Context) (V, error)) (value V, err error) {
	text := c.local.key(key)
	ended := token == "" // the lease
	if ended {
		defer c.unshareLater(key)()
	}
	defer func() {
		if !ended { // fetch failed, panicked or exited, or the store did
			c.release(ctx, text, token)
		}
	}()
	l.Expire = -1
	c.counts.fetches.Add(1)
	value, err = fetch(ctx)
	began := time.Now()
	item := Item{State: Found, TTL: c.ttl(c.expire)}
	l.NotFound = errors.Is(err, c.notFound)
	switch {
	case l.NotFound && c.notFoundExpire > 0:
		item = Item{State: Absent, TTL: c.ttl(c.notFoundExpire)}
	case err != nil:
		return value, err
	default:
		if item.Value, err = convert(c.values.Encode, value); err != nil {
			return value, err
		}
	}
	var filled bool
	filled, ended = c.fill(ctx, text, token, item)
	if filled && item.State == Absent {
		return value, KeepError(err, c.localTTL(c.notFoundExpire, item.TTL, began))
	}
	if filled {
		l.Expire = c.localTTL(c.localExpire, item.TTL, began)
	}
	return value, err
}

// fill stores a fetched item in the store. It reports whether the item may be kept in memory,
// and whether the lease has ended. No caller gets its errors, as the callers have their
// value. It does not end with the context of the callers.
func (c *Cache[K, V]) fill(ctx context.Context, text, token string, item Item) (filled, ended bool) {
	err := c.ask(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
		if token == "" {
			return c.store.Set(ctx, text, item)
		}
		filled, err = c.leaser.Fill(ctx, text, token, item)
		return err
	})
	if err != nil {
		return false, token == ""
	}
	if token != "" && !filled {
		c.counts.overtaken.Add(1)
	}
	return filled, true
}

// withoutStore ends a load after the store returned an error, as ServeOn and Away say. fetch
// is nil for a Get.
func (c *Cache[K, V]) withoutStore(ctx context.Context, key K, l *cache.Load[V], storeErr error, fetch func(context.Context) (V, error)) (value V, err error) {
	l.Expire = -1
	if err := context.Cause(ctx); err != nil {
		return value, err
	}
	if value, ok := c.standIn(key); ok {
		return value, nil
	}
	if fetch == nil || c.away == Fail {
		return value, storeErr
	}
	defer c.unshareLater(key)()
	c.counts.bypasses.Add(1)
	value, err = fetch(ctx)
	l.NotFound = errors.Is(err, c.notFound)
	return value, err
}

// standIn returns the value in memory, while ServeOn allows that.
func (c *Cache[K, V]) standIn(key K) (value V, ok bool) {
	if c.serveOn == 0 {
		return value, false
	}
	if value, ok = c.local.peek(key, c.serveOn); ok {
		c.counts.servedOn.Add(1)
	}
	return value, ok
}

// unshareLater keeps callers that come MaxLag later from joining a load, unless the function
// that it returns is called before. The load is about to fetch while the store has nothing for
// the key, not even a lease. A removal of the key then changes nothing in the store, so the
// source does not tell of it. The result is not kept in memory anyway.
func (c *Cache[K, V]) unshareLater(key K) (stop func() bool) {
	return time.AfterFunc(c.local.link.maxLag, func() { c.local.Forget(key) }).Stop
}

// ask calls the store, with the Timeout of the options.
func (c *Cache[K, V]) ask(ctx context.Context, f func(context.Context) error) error {
	within := ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	err := f(within)
	if err == nil {
		return nil
	}
	if ctx.Err() == nil { // else the caller has left
		c.counts.storeErrors.Add(1)
	}
	return fmt.Errorf("%w: %w", ErrStore, err)
}

// ttl returns a TTL with jitter.
func (c *Cache[K, V]) ttl(ttl time.Duration) time.Duration {
	if ttl == 0 || c.jitter == 0 {
		return ttl
	}
	return max(duration(float64(ttl)*(1+c.jitter*(2*rand.Float64()-1))), time.Millisecond)
}

// localTTL returns the TTL in memory, before jitter, of an item that has the TTL inStore in
// the store: at most local, and never longer than in the store. 0 means for ever in all
// three. The reading of the item began at began. The result is negative if the item has
// expired since.
func (c *Cache[K, V]) localTTL(local, inStore time.Duration, began time.Time) time.Duration {
	if inStore == 0 {
		return local
	}
	left := duration((float64(inStore) - float64(time.Since(began))) / (1 + c.jitter))
	switch {
	case left == 0:
		return -1
	case local == 0:
		return left
	}
	return min(local, left)
}

// duration returns a number of nanoseconds as a Duration: at least 0, at most the longest.
func duration(ns float64) time.Duration {
	if ns >= math.MaxInt64 { // what is converted must fit
		return math.MaxInt64
	}
	return time.Duration(max(ns, 0))
}

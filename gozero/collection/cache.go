package collection

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/gozero/internal/minutelog"
)

const (
	// defaultCacheName is what go-zero calls a cache without a name.
	defaultCacheName = "proc"

	// expiryDeviation is go-zero's jitter: entries stored together do not expire
	// together.
	expiryDeviation = 0.05
)

// A Cache holds values by key, each for a limited time, in memory. Make one with
// [NewCache]. Its methods are safe for concurrent use. An unreferenced cache is
// garbage-collected, whether or not it was closed.
type Cache struct {
	options cache.Options[string, any] // what NewCache and its options ask for
	entries *cache.Cache[string, any]
}

// A CacheOption sets an option of a cache made by [NewCache]. [WithLimit] and
// [WithName] return the options there are.
type CacheOption func(cache *Cache)

// WithLimit sets how many entries the cache may hold. When a new key would exceed the
// limit, a key that has not been used for long is evicted. A limit of zero or less is
// ignored, as in go-zero. Without WithLimit there is no limit.
func WithLimit(limit int) CacheOption {
	return func(c *Cache) {
		if limit > 0 {
			c.options.Limit = limit
		}
	}
}

// WithName names the cache in the statistics. Without it, or with an empty name, the
// name is "proc". A number is appended to a name that is in use.
func WithName(name string) CacheOption {
	return func(c *Cache) { c.options.Name = name }
}

// NewCache returns an empty cache whose entries live for expire, give or take 5 %,
// so that entries stored together do not expire together. An expire of 0 means
// for ever. It is an error if expire is negative, or positive but under a
// millisecond (a number without its unit), or if the limit is more than 2³¹-1; the
// error says which.
//
// As in go-zero, logx gets a line of level stat every minute for each cache with traffic;
// here also for those of package cache.
func NewCache(expire time.Duration, opts ...CacheOption) (*Cache, error) {
	c := new(Cache)
	for _, set := range opts {
		if set != nil {
			set(c)
		}
	}
	if c.options.Name == "" {
		c.options.Name = defaultCacheName
	}
	c.options.Expire = expire
	c.options.Jitter = expiryDeviation
	c.options.OnPanic = logPanic
	entries, err := cache.New(c.options)
	if err != nil {
		return nil, err
	}
	c.entries = entries
	minutelog.Process.Start()
	return c, nil
}

// Get returns the value of a key and true, or nil and false if there is none or it
// has expired.
func (c *Cache) Get(key string) (any, bool) { return c.entries.Get(key) }

// Set stores a value for a key, replacing any it has. The value expires after the time
// given to NewCache.
func (c *Cache) Set(key string, value any) { c.entries.Set(key, value) }

// SetWithExpire is [Cache.Set] with an expiry time for this value, of any length, give
// or take 5 %. If it is 0, the value stays until it is removed or evicted. If it is
// negative, the value has expired already: the key is removed and nothing is stored.
func (c *Cache) SetWithExpire(key string, value any, expire time.Duration) {
	c.entries.SetWithExpire(key, value, expire)
}

// Take returns the value of a key, or calls fetch for it and stores the result, as
// by Set. There is one fetch for a key at a time: callers that come while it runs
// wait for its result. If the key was set or deleted since the fetch began, the result
// goes to those callers and is not stored; a caller that comes then fetches anew at once.
//
// If fetch fails, Take returns nil and the error of fetch, and stores nothing. A panic
// or [runtime.Goexit] of fetch goes on in the caller that ran it; the others get an
// error, a [cache.PanicError] or [cache.ErrGoexit]. fetch may use the cache, but it
// must not Take the same key, which would wait for itself.
func (c *Cache) Take(key string, fetch func() (any, error)) (any, error) {
	value, err := c.entries.Take(key, fetch)
	if err != nil {
		return nil, err // whatever fetch returned beside it
	}
	return value, nil
}

// Del removes a key. The result of a fetch of it that is running will not be stored.
func (c *Cache) Del(key string) { c.entries.Del(key) }

// Len returns the number of entries, never more than the limit. It may count entries
// that expired less than a tick ago. A tick is a hundredth of the time given to
// NewCache, but at least 10 ms and at most 1 s.
func (c *Cache) Len() int { return c.entries.Len() }

// Close empties the cache and waits until all fetches have ended. If ctx ends first,
// Close returns its cause. Close can be called again at any time; called by a fetch, it
// returns an error instead of waiting.
// A closed cache can be used, and stays empty: Take calls fetch for every caller.
// go-zero's cache cannot be closed.
func (c *Cache) Close(ctx context.Context) error { return c.entries.Close(ctx) }

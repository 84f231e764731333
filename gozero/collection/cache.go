package collection

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

const (
	// defaultCacheName is what go-zero calls a cache without a name.
	defaultCacheName = "proc"

	// expiryDeviation is go-zero's jitter: entries stored together do not expire
	// together.
	expiryDeviation = 0.05
)

// A Cache holds values by key, each for a time, in memory. Make one with
// [NewCache]. Its methods are safe for concurrent use. One that nobody holds any
// more is collected, whether or not it was closed.
type Cache struct {
	options cache.Options[string, any] // what NewCache and its options ask for
	entries *cache.Cache[string, any]
}

// A CacheOption changes how [NewCache] makes a cache. The options are those that
// [WithLimit] and [WithName] return.
type CacheOption func(cache *Cache)

// WithLimit sets the most entries that the cache holds at once. When a new key
// would exceed it, a key that was not used for long is evicted. A limit of zero or
// less changes nothing, as in go-zero: without another WithLimit there is none.
func WithLimit(limit int) CacheOption {
	return func(c *Cache) {
		if limit > 0 {
			c.options.Limit = limit
		}
	}
}

// WithName sets what statistics call the cache; "proc" if it is not given or
// empty. A name that is in use gets a number behind it.
func WithName(name string) CacheOption {
	return func(c *Cache) { c.options.Name = name }
}

// NewCache returns an empty cache whose entries live for expire, give or take 5 %,
// so that entries stored together do not expire together. An expire of 0 means
// for ever. It is an error if expire is negative, or positive but under a
// millisecond, which is a number without its unit, or if the limit is more than
// 2³¹-1; the error says which.
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
	entries, err := cache.New(c.options)
	if err != nil {
		return nil, err
	}
	c.entries = entries
	return c, nil
}

// Get returns the value of a key and true, or nil and false if there is none or
// its time has passed.
func (c *Cache) Get(key string) (any, bool) { return c.entries.Get(key) }

// Set stores a value for a key, in place of the one that it has, for the time that
// NewCache was given.
func (c *Cache) Set(key string, value any) { c.entries.Set(key, value) }

// SetWithExpire is [Cache.Set] for a time of its own, of any length, give or take
// 5 %. With 0 the value stays until it is removed or evicted. With a negative time
// it has expired already: the key is removed, and the value not stored.
func (c *Cache) SetWithExpire(key string, value any, expire time.Duration) {
	c.entries.SetWithExpire(key, value, expire)
}

// Take returns the value of a key, or calls fetch for it and stores the result, as
// by Set. There is one fetch for a key at a time: callers that come while it runs
// get its result. If the key was set or deleted since the fetch began, the result
// goes to those callers and is not stored.
//
// An error of fetch is returned as it is, with nil, and nothing is stored. A panic of fetch,
// or [runtime.Goexit], goes through to the caller that ran it; the others get an
// error, a [cache.PanicError] or [cache.ErrGoexit]. fetch may use the cache, but not
// Take the same key, which would wait for itself, or close the cache.
func (c *Cache) Take(key string, fetch func() (any, error)) (any, error) {
	value, err := c.entries.Take(key, fetch)
	if err != nil {
		return nil, err // whatever fetch returned beside it
	}
	return value, nil
}

// Del removes a key. A fetch of it that is under way will not be stored.
func (c *Cache) Del(key string) { c.entries.Del(key) }

// Len returns the number of entries, never more than the limit. It may count some
// whose time passed less than a tick ago: a hundredth of the time that NewCache was
// given, but 10 ms to 1 s.
func (c *Cache) Len() int { return c.entries.Len() }

// Close empties the cache and waits until all fetches have ended. If ctx ends
// before, Close returns its cause; it can be called again then, and whenever else.
// A closed cache can be used, and stays empty: Take fetches for each of its callers.
// It must not be called by a fetch. go-zero's cache cannot be closed.
func (c *Cache) Close(ctx context.Context) error { return c.entries.Close(ctx) }

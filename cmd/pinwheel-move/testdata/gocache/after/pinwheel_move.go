package gocache

import (
	"fmt"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// cacheAdd stores a value for d, or returns an error if there is one: 0 is the TTL of the cache,
// and less is for ever.
func cacheAdd(c *cache.Cache[string, any], key string, value any, d time.Duration) error {
	var found bool
	if d == 0 {
		_, found = c.GetOrSet(key, value)
	} else {
		_, found = c.GetOrSetWithExpire(key, value, max(d, 0))
	}
	if found {
		return fmt.Errorf("Item %s already exists", key)
	}
	return nil
}

// cacheDecrement subtracts n from a number, whose deadline stays.
func cacheDecrement[N int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64 | uintptr | float32 | float64](c *cache.Cache[string, any], key string, n N) (N, error) {
	var rest N
	var err error
	c.Compute(key, func(old any, found bool) (any, cache.Op) {
		number, ok := old.(N)
		switch {
		case !found:
			err = fmt.Errorf("Item %s not found", key)
			return nil, cache.OpKeep
		case !ok:
			err = fmt.Errorf("The value for %s is not an %T", key, n)
			return nil, cache.OpKeep
		}
		rest, err = number-n, nil
		return rest, cache.OpSet
	})
	if err != nil {
		return 0, err
	}
	return rest, nil
}

// cacheGetWithExpiration returns a value and its deadline, the zero time if it has none.
func cacheGetWithExpiration(c *cache.Cache[string, any], key string) (any, time.Time, bool) {
	e, ok := c.Entry(key)
	if !ok || e.TTL == 1<<63-1 {
		return e.Value, time.Time{}, ok
	}
	return e.Value, time.Now().Add(e.TTL), true
}

// cacheIncrement adds n to a number, whose deadline stays.
func cacheIncrement[N int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64 | uintptr | float32 | float64](c *cache.Cache[string, any], key string, n N) (N, error) {
	var sum N
	var err error
	c.Compute(key, func(old any, found bool) (any, cache.Op) {
		number, ok := old.(N)
		switch {
		case !found:
			err = fmt.Errorf("Item %s not found", key)
			return nil, cache.OpKeep
		case !ok:
			err = fmt.Errorf("The value for %s is not an %T", key, n)
			return nil, cache.OpKeep
		}
		sum, err = number+n, nil
		return sum, cache.OpSet
	})
	if err != nil {
		return 0, err
	}
	return sum, nil
}

// cacheReplace replaces a value for d, or returns an error if there is none. A d of less than 0
// is for ever.
func cacheReplace(c *cache.Cache[string, any], key string, value any, d time.Duration) error {
	_, found := c.ComputeWithExpire(key, max(d, 0), func(_ any, found bool) (any, cache.Op) {
		if !found {
			return nil, cache.OpKeep
		}
		return value, cache.OpSet
	})
	if !found {
		return fmt.Errorf("Item %s doesn't exist", key)
	}
	return nil
}

// cacheSetFor stores a value for d: 0 is the TTL of the cache, and less is for ever.
func cacheSetFor(c *cache.Cache[string, any], key string, value any, d time.Duration) {
	if d == 0 {
		c.Set(key, value)
		return
	}
	c.SetWithExpire(key, value, max(d, 0))
}

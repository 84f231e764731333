// This file has the errors that Negative keeps, as loads and shards see them.

package cache

import (
	"context"
	"errors"
	"time"
)

// keptErrors keeps errors by the keys of any cache. It is an interface to hide the type of
// the cache in it: each package that sees a generic type compiles all its methods again, and
// a package that uses one cache should not compile two.
type keptErrors interface {
	get(key any, since int64) error
	set(key any, e keptError, ttl time.Duration)
	del(key any)
	len() int
	clear()
	resize(limit int)
	close()
}

// keepFor returns for how long to keep an error of a fetch; 0 means not at all. Errors that
// say how the load ended, and not what it found, are never kept.
func (l *loading) keepFor(err error) time.Duration {
	var panicked *PanicError
	switch {
	case l.negative == nil || err == nil:
		return 0
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, ErrGoexit), errors.As(err, &panicked):
		return 0
	}
	return max(l.negative(err), 0)
}

// A keptError is an error of a load, which began then.
type keptError struct {
	err   error
	began int64
}

// keptError returns the kept error of a key whose load began after since, or nil. The lock of its shard
// must be held.
func (c *common[K, V]) keptError(key K, since int64) error {
	if c.negatives == nil {
		return nil
	}
	return c.negatives.get(key, since)
}

// dropError removes the kept error of a key, which is about to change.
func (c *common[K, V]) dropError(key K) {
	if c.negatives != nil && c.negatives.len() > 0 {
		c.negatives.del(key)
	}
}

// dropErrors removes all kept errors. Before that, the shards must be cleared, or all loads get the
// filter of a DelFunc, so that none of them keeps its error afterwards.
func (c *common[K, V]) dropErrors() {
	if c.negatives != nil {
		c.negatives.clear()
	}
}

func (c *common[K, V]) resizeNegatives(limit int) {
	if c.negatives != nil {
		c.negatives.resize(limit)
	}
}

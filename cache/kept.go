// This file has the cache in which the errors are that Negative or a load keeps. They evict each other
// and no values there; they expire and free their memory as values do.

package cache

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// There is room for Limit/negativeShare errors, or negativeLimit without a Limit.
	negativeShare = 8
	negativeLimit = 10_000
)

func limitOfNegatives(limit int) int {
	if limit == 0 {
		return negativeLimit
	}
	return max(limit/negativeShare, 1)
}

// newKeptErrors is not inlined: that would show the type to its callers.
//
//go:noinline
func newKeptErrors(limit int, jitter float64) keptErrors {
	n := &negatives{jitter: jitter}
	n.resize(limit)
	return n
}

// negatives implements keptErrors. It makes its cache for the first error, as that takes two
// kilobytes.
type negatives struct {
	jitter float64
	limit  atomic.Int64  // of errors
	given  atomic.Uint64 // how many errors were set
	errors atomic.Pointer[Cache[any, error]]
}

func (n *negatives) get(key any) error {
	if c := n.errors.Load(); c != nil {
		err, _ := c.Get(key)
		return err
	}
	return nil
}

func (n *negatives) set(key any, err error, ttl time.Duration) {
	n.given.Add(1)
	c := n.errors.Load()
	for c == nil {
		limit := int(n.limit.Load())
		n.errors.CompareAndSwap(nil, build(Options[any, error]{Limit: limit, Jitter: n.jitter}))
		c = n.errors.Load()
		if now := int(n.limit.Load()); now != limit { // resize may not have seen the cache
			_ = c.Resize(now)
		}
	}
	c.SetWithExpire(key, err, ttl)
}

func (n *negatives) del(key any) {
	if c := n.errors.Load(); c != nil && c.Len() > 0 {
		c.Del(key)
	}
}

func (n *negatives) len() int {
	if c := n.errors.Load(); c != nil {
		return c.Len()
	}
	return 0
}

func (n *negatives) ever() uint64 { return n.given.Load() }

func (n *negatives) clear() {
	if c := n.errors.Load(); c != nil {
		c.Clear()
	}
}

// resize changes the limit to that of a cache with a limit of so many entries, which is valid.
func (n *negatives) resize(limit int) {
	n.limit.Store(int64(limitOfNegatives(limit)))
	if c := n.errors.Load(); c != nil {
		_ = c.Resize(limitOfNegatives(limit))
	}
}

// close is called when no error can be kept any more.
func (n *negatives) close() {
	if c := n.errors.Load(); c != nil {
		_ = c.Close(context.Background()) // waits for at most a tick
	}
}

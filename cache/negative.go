// This file has the cache in which the errors of Negative are kept.

package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// The errors that Negative keeps are in a cache of their own. So they evict only each other, and they
// expire and free their memory as values do. An error is stored and removed
// under the lock of its key's shard, so that a change of the key removes the error. The locks
// of the errors' cache come below that lock.

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
	return &negatives{limit: limitOfNegatives(limit), jitter: jitter}
}

// negatives implements keptErrors.
type negatives struct {
	mu     sync.Mutex // guards limit, and the change of errors
	limit  int
	jitter float64
	errors atomic.Pointer[Cache[any, keptError]] // nil before the first error
}

// made returns the cache of the errors, which it makes if there is none.
func (n *negatives) made() *Cache[any, keptError] {
	if c := n.errors.Load(); c != nil {
		return c
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.errors.Load() == nil {
		n.errors.Store(build(Options[any, keptError]{Limit: n.limit, Jitter: n.jitter}))
	}
	return n.errors.Load()
}

func (n *negatives) get(key any, since int64) error {
	if c := n.errors.Load(); c != nil {
		if e, _ := c.Get(key); e.began > since {
			return e.err
		}
	}
	return nil
}

func (n *negatives) set(key any, e keptError, ttl time.Duration) {
	n.made().SetWithExpire(key, e, ttl)
}

func (n *negatives) del(key any) {
	if c := n.errors.Load(); c != nil {
		c.Del(key)
	}
}

func (n *negatives) len() int {
	if c := n.errors.Load(); c != nil {
		return c.Len()
	}
	return 0
}

func (n *negatives) clear() {
	if c := n.errors.Load(); c != nil {
		c.Clear()
	}
}

func (n *negatives) resize(limit int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.limit = limitOfNegatives(limit)
	if c := n.errors.Load(); c != nil {
		_ = c.Resize(n.limit) // it is valid
	}
}

func (n *negatives) close() {
	if c := n.errors.Load(); c != nil {
		_ = c.Close(context.Background()) // waits for at most a tick
	}
}

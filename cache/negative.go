package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// The errors that Negative keeps are in a cache of their own. So they evict each other and
// no values; they expire and free their memory as values do. An error is stored and removed
// under the lock of its key's shard, which comes before the locks of that cache: a change
// of the key removes the error, as it makes a load stale.

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

// keptErrors keeps errors by the keys of any cache. It is an interface to hide the type of
// the cache in it: each package that sees a generic type compiles all its methods anew, and
// a package that uses one cache should not compile two.
type keptErrors interface {
	get(key any) error
	set(key any, err error, ttl time.Duration)
	del(key any)
	len() int
	clear()
	resize(limit int)
	close()
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
	errors atomic.Pointer[Cache[any, error]] // nil before the first error
}

// made returns the cache of the errors, which it makes if there is none.
func (n *negatives) made() *Cache[any, error] {
	if c := n.errors.Load(); c != nil {
		return c
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.errors.Load() == nil {
		n.errors.Store(build(Options[any, error]{Limit: n.limit, Jitter: n.jitter}))
	}
	return n.errors.Load()
}

func (n *negatives) get(key any) (err error) {
	if c := n.errors.Load(); c != nil {
		err, _ = c.Get(key)
	}
	return err
}

func (n *negatives) set(key any, err error, ttl time.Duration) {
	n.made().SetWithExpire(key, err, ttl)
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

// keepFor returns for how long to keep an error of a fetch; 0 means not at all. Errors that
// say how the load ended, and not what it found, are never kept.
func (c *common[K, V]) keepFor(err error) time.Duration {
	var panicked *PanicError
	switch {
	case c.negative == nil || err == nil:
		return 0
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, ErrTimeout), errors.Is(err, ErrGoexit), errors.As(err, &panicked):
		return 0
	}
	return max(c.negative(err), 0)
}

// keepError keeps the error of a load, unless a DelFunc was called meanwhile: it would have
// dropped the error. The lock of the shard must be held.
func (s *shard[K, V]) keepError(l *load[K, V]) {
	if l.keepErr > 0 && !s.closed && l.filtered == 0 {
		if _, found := s.find(l.hash, l.key); found {
			s.del(l.hash, l.key) // the error is the answer now
		}
		s.common.negatives.set(l.key, l.err, l.keepErr)
	}
}

// keptError returns the kept error of a key, or nil. The lock of the shard must be held.
func (s *shard[K, V]) keptError(key K) error {
	if s.common.negatives == nil {
		return nil
	}
	return s.common.negatives.get(key)
}

// dropError removes the kept error of a key, which is about to change.
func (c *common[K, V]) dropError(key K) {
	if c.negatives != nil && c.negatives.len() > 0 {
		c.negatives.del(key)
	}
}

// dropErrors removes all kept errors, after the shards were cleared, or all loads have got the
// filter of a DelFunc. Loads that were under way then keep none.
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

package cache

import (
	"context"
	"errors"
	"time"
)

// Errors that loads returned, and that are kept as Negative says, are in a cache of their
// own. So they evict each other and no values; they have deadlines, and free their memory,
// as values do. An error is stored and removed under the lock of its key's shard, which
// comes before those of that cache: a change of the key ends it, as it makes a load stale.

const (
	// negativeShare is of which part of the Limit there may be errors besides, and
	// negativeLimit how many in a cache without a Limit.
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
// that cache: each package that sees a generic type compiles all its methods anew, and
// packages that use one cache should not have to compile two.
type keptErrors interface {
	get(key any) error
	set(key any, err error, ttl time.Duration)
	del(key any)
	len() int
	clear()
	resize(limit int)
	close()
}

// newKeptErrors is not inlined, which would show its callers the type.
//
//go:noinline
func newKeptErrors(limit int, jitter float64) keptErrors {
	return negatives{build(Options[any, error]{Limit: limitOfNegatives(limit), Jitter: jitter})}
}

// negatives are the kept errors.
type negatives struct{ errors *Cache[any, error] }

func (n negatives) get(key any) error {
	err, _ := n.errors.Get(key)
	return err
}

func (n negatives) set(key any, err error, ttl time.Duration) { n.errors.SetWithExpire(key, err, ttl) }

func (n negatives) del(key any) { n.errors.Del(key) }

func (n negatives) len() int { return n.errors.Len() }

func (n negatives) clear() { n.errors.Clear() }

func (n negatives) resize(limit int) { _ = n.errors.Resize(limitOfNegatives(limit)) } // which is no wrong one

func (n negatives) close() { _ = n.errors.Close(context.Background()) } // waits for a tick at most

// keepFor returns for how long an error of a fetch is to be kept; 0 means not at all.
// Errors that tell how the load ended, and not what it found, never are.
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

// keepError keeps the error of a load. The lock of the shard must be held.
func (s *shard[K, V]) keepError(l *load[K, V]) {
	if l.keepErr > 0 && !s.closed {
		if _, found := s.find(l.hash, l.key); found {
			s.del(l.hash, l.key) // the error is the answer now
		}
		s.common.negatives.set(l.key, l.err, l.keepErr)
	}
}

// keptError returns the error that is kept for a key, or nil. The lock of the shard must
// be held.
func (s *shard[K, V]) keptError(key K) error {
	if s.common.negatives == nil {
		return nil
	}
	return s.common.negatives.get(key)
}

// dropError ends the error that is kept for a key, which is about to change.
func (c *common[K, V]) dropError(key K) {
	if c.negatives != nil && c.negatives.len() > 0 {
		c.negatives.del(key)
	}
}

// dropErrors ends all that were kept before the shards were cleared. Loads that were
// under way then keep none.
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

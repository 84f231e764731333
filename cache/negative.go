package cache

import (
	"context"
	"errors"
	"time"
)

// Errors that loads returned, and that are kept as Negative says, are in a cache of their
// own. So however many there are, they drive out each other and no values; they have
// deadlines, and give their memory back, as values do. An error is stored and removed
// under the lock of its key's shard, which comes before those of that cache: a change of
// the key ends it, as it makes a load stale.

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

func newNegatives[K comparable, V any](o Options[K, V]) *Cache[K, error] {
	if o.Negative == nil {
		return nil
	}
	return build(Options[K, error]{Limit: limitOfNegatives(o.Limit), Jitter: o.Jitter})
}

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
		s.common.negatives.SetWithExpire(l.key, l.err, l.keepErr)
	}
}

// keptError returns the error that is kept for a key, or nil. The lock of the shard must
// be held.
func (s *shard[K, V]) keptError(key K) error {
	if s.common.negatives == nil {
		return nil
	}
	err, _ := s.common.negatives.Get(key)
	return err
}

// dropError ends the error that is kept for a key, which is about to change.
func (c *common[K, V]) dropError(key K) {
	if c.negatives != nil && c.negatives.Len() > 0 {
		c.negatives.Del(key)
	}
}

// dropErrors ends all that were kept before the shards were cleared. Loads that were
// under way then keep none.
func (c *common[K, V]) dropErrors() {
	if c.negatives != nil {
		c.negatives.Clear()
	}
}

func (c *common[K, V]) resizeNegatives(limit int) {
	if c.negatives != nil {
		_ = c.negatives.Resize(limitOfNegatives(limit)) // which is no wrong one
	}
}

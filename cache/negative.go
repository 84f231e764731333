// This file keeps errors as the answers for their keys. An error is stored and removed under
// the lock of its key's shard, which comes before the locks of the cache of errors. A change of
// the key removes the error, as it makes a load stale.

package cache

import (
	"context"
	"errors"
	"time"
)

// keepFor returns for how long to keep the error of a load. Errors that say how the load
// ended, and not what it found, are never kept.
func (c *shared[K, V]) keepFor(l *load[K, V]) time.Duration {
	var panicked *PanicError
	err := l.Err
	switch {
	case l.KeepError < 0, l.KeepError == 0 && c.loading.negative == nil:
		return -1
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, ErrTimeout), errors.Is(err, ErrGoexit), errors.As(err, &panicked):
		return -1
	case l.KeepError > 0:
		return l.KeepError
	}
	return c.loading.negative(err)
}

// failure returns the error of a load that has failed, or nil. An error that is kept, or that
// means that there is no value, is an answer and no failure.
func (l *load[K, V]) failure() error {
	if l.KeepError > 0 || l.NotFound {
		return nil
	}
	return l.Err
}

// keepError makes the error of a load the answer for its key, unless the load has failed. The
// lock of the shard must be held.
func (s *shard[K, V]) keepError(l *load[K, V]) {
	if s.closed || l.failure() != nil {
		return
	}
	if _, found := s.find(l.hash, l.key); found {
		s.del(l.hash, l.key)
	}
	if l.KeepError > 0 {
		s.keepsErrors = true
		s.shared.negatives.set(l.key, l.Err, l.KeepError)
	}
}

// keptError returns the kept error of a key, or nil. The lock of the shard must be held.
func (s *shard[K, V]) keptError(key K) error {
	if !s.keepsErrors {
		return nil
	}
	return s.shared.negatives.get(key)
}

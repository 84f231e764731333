package near

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// Negatives are errors of fetches, which this instance keeps for a while: Negative, or KeepError
// of a Load. A fetch that fails gives its lease back, which is a change that the source tells of, so
// an error cannot be kept by the load that has found it. The next load finds it here,
// and if the store still has nothing, keeps it as memory keeps errors, until the key changes. A
// nil *negatives keeps nothing.
type negatives[K comparable] struct {
	keepFor func(error) time.Duration // or nil
	errors  *cache.Cache[K, error]
	changes atomic.Uint64 // by this instance
}

// The room for errors is that of cache.Options.Negative.
const (
	negativeShare = 8
	negativeLimit = 10_000
)

func newNegatives[K comparable](keepFor func(error) time.Duration, limit int, jitter float64) *negatives[K] {
	if limit /= negativeShare; limit == 0 {
		limit = negativeLimit
	}
	return &negatives[K]{
		keepFor: keepFor,
		errors:  cache.Must(cache.Options[K, error]{Limit: limit, Jitter: jitter, Unlisted: true}),
	}
}

// moment returns what keep wants from before the fetch.
func (n *negatives[K]) moment() uint64 { return n.changes.Load() }

// keep keeps an error of a fetch for a time, or as Negative says if that is 0, unless this
// instance has changed the key since.
func (n *negatives[K]) keep(key K, err error, ttl time.Duration, since uint64) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return
	case ttl == 0 && n.keepFor != nil:
		ttl = n.keepFor(err)
	}
	if ttl <= 0 || n.changes.Load() != since {
		return
	}
	n.errors.SetWithExpire(key, err, ttl)
	if n.changes.Load() != since {
		n.errors.Del(key)
	}
}

// keeps reports whether an error of a fetch is one that Negative keeps.
func (n *negatives[K]) keeps(err error) bool { return n.keepFor != nil && n.keepFor(err) > 0 }

// forget drops the errors of keys.
func (n *negatives[K]) forget(keys ...K) {
	n.changes.Add(1)
	for _, key := range keys {
		n.errors.Del(key)
	}
}

// forget is what a change by this instance does, in memory.
func (c *Cache[K, V]) forget(keys ...K) {
	c.negatives.forget(keys...)
	c.local.Forget(keys...)
}

// refused returns the error that is kept for a key, if there is one and the store has nothing.
func (c *Cache[K, V]) refused(ctx context.Context, key K, l *cache.Load[V]) error {
	kept, ok := c.negatives.errors.Entry(key)
	if !ok {
		return nil
	}
	began := time.Now()
	item, err := c.get(ctx, c.local.key(key))
	if err == nil && item.State != Missing && item.State != Leased {
		return nil
	}
	l.KeepError = c.localTTL(0, kept.TTL, began)
	return kept.Value
}

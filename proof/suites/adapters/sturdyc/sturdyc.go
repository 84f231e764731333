// Package sturdyc has the names of github.com/viccon/sturdyc that its tests of fetches use, on top of
// package cache.
package sturdyc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	theirs "github.com/viccon/sturdyc"

	"github.com/pinwheel-cache/pinwheel/cache"
)

type (
	BatchFetchFn[T any] = theirs.BatchFetchFn[T]
	FetchFn[T any]      = theirs.FetchFn[T]
	KeyFn               = theirs.KeyFn
)

var (
	ErrInvalidType       = theirs.ErrInvalidType
	ErrMissingRecord     = theirs.ErrMissingRecord
	ErrNotFound          = theirs.ErrNotFound
	ErrOnlyCachedRecords = theirs.ErrOnlyCachedRecords
)

// A Client is a cache. Between the early refresh and the TTL a value is in Grace after the time from
// which sturdyc loads it before it returns.
type Client[T any] struct {
	*cache.Cache[string, T]
	missing bool         // errors that mean "not found" are kept
	batched atomic.Int64 // keys under way in batches, but for one of each
}

type settings struct {
	refresh, sync, retry time.Duration
	missing              bool
}

type Option func(*settings)

func WithMissingRecordStorage() Option { return func(s *settings) { s.missing = true } }

// WithEarlyRefreshes refreshes after the mean of two delays, as Jitter would change the TTL too.
func WithEarlyRefreshes(least, most, sync, retry time.Duration) Option {
	return func(s *settings) { s.refresh, s.sync, s.retry = (least+most)/2, sync, retry }
}

// These have no effect: entries expire by themselves, in the time of the bubble.

func WithClock(*TestClock) Option               { return func(*settings) {} }
func WithMetrics(theirs.MetricsRecorder) Option { return func(*settings) {} }
func WithNoContinuousEvictions() Option         { return func(*settings) {} }

// New returns a client with that capacity and TTL.
func New[T any](capacity, _ int, ttl time.Duration, _ int, options ...Option) *Client[T] {
	s := settings{}
	for _, option := range options {
		option(&s)
	}
	o := cache.Options[string, T]{Limit: capacity, Expire: ttl}
	kept := ttl
	if s.refresh > 0 {
		o.Expire, o.Grace, o.Patience = s.sync, ttl-s.sync, math.MaxInt64
		o.RefreshAfter, kept = s.refresh, s.refresh
		o.RetryAfter = func(failures int) time.Duration { return s.retry << (failures - 1) }
	}
	if s.missing {
		o.Negative = func(err error) time.Duration {
			if errors.Is(err, ErrNotFound) || errors.Is(err, cache.ErrNotFound) {
				return kept
			}
			return 0
		}
	}
	c, err := cache.New(o)
	if err != nil {
		panic(err)
	}
	return &Client[T]{Cache: c, missing: s.missing}
}

// Get is Stale: the TTL of sturdyc ends with Grace.
func (c *Client[T]) Get(key string) (T, bool) {
	e, ok := c.Stale(key)
	return e.Value, ok
}

// GetMany is Get for several keys.
func (c *Client[T]) GetMany(keys []string) map[string]T {
	found := map[string]T{}
	for _, key := range keys {
		if v, ok := c.Get(key); ok {
			found[key] = v
		}
	}
	return found
}

// Size counts missing records too.
func (c *Client[T]) Size() int { return c.Len() + c.Stats().Negatives }

// NumKeysInflight counts the keys of a batch, which is one load.
func (c *Client[T]) NumKeysInflight() int { return c.Stats().Loads.Running + int(c.batched.Load()) }

func (c *Client[T]) BatchKeyFn(prefix string) KeyFn {
	return func(id string) string { return prefix + "-ID-" + id }
}

func (c *Client[T]) GetOrFetch(ctx context.Context, key string, fetch FetchFn[T]) (T, error) {
	return takeOne(ctx, c, key, cache.Terms{}, fetch)
}

func GetOrFetch[V, T any](ctx context.Context, c *Client[T], key string, fetch FetchFn[V]) (V, error) {
	value, err := takeOne(ctx, c, key, cache.Terms{}, fetch)
	return as[V](value, err)
}

func Passthrough[V, T any](ctx context.Context, c *Client[T], key string, fetch FetchFn[V]) (V, error) {
	value, err := takeOne(ctx, c, key, cache.Within(0), fetch)
	if errors.Is(err, ErrOnlyCachedRecords) {
		err = nil
	}
	return as[V](value, err)
}

// takeOne takes the value of a key. It refuses an old value, to know that the load failed, and then looks
// for one.
func takeOne[V, T any](ctx context.Context, c *Client[T], key string, terms cache.Terms, fetch FetchFn[V]) (_ T, err error) {
	defer recovered(&err)
	terms.NoOld = true
	e, err := c.TakeEntry(ctx, key, terms, func(ctx context.Context, l *cache.Load[T]) (T, error) {
		value, err := fetch(ctx)
		l.Gone = errors.Is(err, ErrNotFound)
		return as[T](value, err)
	})
	switch {
	case err == nil:
		return e.Value, nil
	case errors.Is(err, ErrNotFound):
		if c.missing {
			err = ErrMissingRecord
		}
		return e.Value, err
	}
	if old, ok := c.Stale(key); ok {
		return old.Value, errors.Join(ErrOnlyCachedRecords, err)
	}
	return e.Value, err
}

func (c *Client[T]) GetOrFetchBatch(ctx context.Context, ids []string, keyOf KeyFn, fetch BatchFetchFn[T]) (map[string]T, error) {
	return takeMany(ctx, c, ids, keyOf, fetch)
}

func GetOrFetchBatch[V, T any](ctx context.Context, c *Client[T], ids []string, keyOf KeyFn, fetch BatchFetchFn[V]) (map[string]V, error) {
	found, err := takeMany(ctx, c, ids, keyOf, fetch)
	return asMany[V](found, err)
}

// takeMany takes the values of ids.
func takeMany[V, T any](ctx context.Context, c *Client[T], ids []string, keyOf KeyFn, fetch BatchFetchFn[V]) (_ map[string]T, err error) {
	defer recovered(&err)
	idOf, keys := map[string]string{}, make([]string, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(id)
		idOf[keys[i]] = id
	}
	found, err := c.TakeMany(ctx, keys, func(ctx context.Context, missing []string) (map[string]T, error) {
		c.batched.Add(int64(len(missing) - 1))
		defer c.batched.Add(-int64(len(missing) - 1))
		ids := make([]string, len(missing))
		for i, key := range missing {
			ids[i] = idOf[key]
		}
		fetched, err := asMany[T](fetch(ctx, ids))
		values := make(map[string]T, len(fetched))
		for id, value := range fetched {
			values[keyOf(id)] = value
		}
		return values, err
	})
	values := make(map[string]T, len(found))
	for key, value := range found {
		values[idOf[key]] = value
		if e, _ := c.Stale(key); e.InGrace { // its load has failed: the next call is to try again at once
			c.Expire(key)
			err = errors.Join(err, ErrOnlyCachedRecords)
		}
	}
	if err != nil && len(values) > 0 {
		err = errors.Join(err, ErrOnlyCachedRecords)
	}
	return values, err
}

// recovered turns a panic into an error, as sturdyc does.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}

// as is value as another type.
func as[To, From any](value From, err error) (To, error) {
	to, ok := any(value).(To)
	if err == nil && !ok {
		err = ErrInvalidType
	}
	return to, err
}

func asMany[To, From any](values map[string]From, err error) (map[string]To, error) {
	all := make(map[string]To, len(values))
	for id, value := range values {
		to, err := as[To](value, nil)
		if err != nil {
			return nil, err
		}
		all[id] = to
	}
	return all, err
}

// A TestClock is the clock of the bubble that the test runs in.
type TestClock struct{}

func NewTestClock(time.Time) *TestClock { return &TestClock{} }

func (*TestClock) Add(d time.Duration) { time.Sleep(d) }

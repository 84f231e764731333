// Package sturdyc has the names of sturdyc that the tests of its loads use, on top of a cache.
//
// A value is renewed in the background from between the delays of WithEarlyRefreshes on, and expires
// when sturdyc would refresh it while its callers wait. From then to the TTL it is in Grace, with
// more Patience than any test has. A missing record is an error that is kept.
package sturdyc

import (
	"context"
	"errors"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

var (
	ErrNotFound          = errors.New("not found")
	ErrMissingRecord     = errors.New("missing record")
	ErrOnlyCachedRecords = errors.New("only cached records")
	ErrInvalidType       = errors.New("invalid type")
)

// A Client is a cache with the options of sturdyc.
type Client[T any] struct {
	*cache.Cache[string, T]
	missing time.Duration // how long a missing record is kept; 0: not at all
}

type config struct {
	refresh, expire time.Duration // 0 without early refreshes
	keeps           bool
}

// An Option is one of sturdyc's.
type Option func(*config)

// New returns a cache for more than capacity values: there is room for an eighth as many errors,
// and missing records count as values there. It needs to know neither shards nor how many values
// to evict at once.
func New[T any](capacity, _ int, ttl time.Duration, _ int, opts ...Option) *Client[T] {
	var conf config
	for _, set := range opts {
		set(&conf)
	}
	o := cache.Options[string, T]{Limit: 8 * capacity, Expire: ttl, Unlisted: true}
	if conf.expire > 0 {
		o.RefreshAfter, o.Expire, o.Grace, o.Patience = conf.refresh, conf.expire, ttl-conf.expire, time.Hour
	}
	c := &Client[T]{Cache: cache.Must(o)}
	if conf.keeps {
		c.missing = o.Expire
	}
	return c
}

// WithNoContinuousEvictions has nothing to do: what has expired is never found.
func WithNoContinuousEvictions() Option { return func(*config) {} }

// WithMissingRecordStorage keeps what is missing.
func WithMissingRecordStorage() Option { return func(c *config) { c.keeps = true } }

// WithEarlyRefreshes sets when values are due, and when their callers wait.
func WithEarlyRefreshes(least, most, wait, _ time.Duration) Option {
	return func(c *config) { c.refresh, c.expire = (least+most)/2, wait }
}

// WithRefreshCoalescing has no counterpart here.
func WithRefreshCoalescing(int, time.Duration) Option { return func(*config) {} }

// WithMetrics has nothing to do: the tests of loads do not look at them.
func WithMetrics(any) Option { return func(*config) {} }

// WithClock has nothing to do: a test runs in a bubble, whose time a TestClock moves.
func WithClock(*TestClock) Option { return func(*config) {} }

// A TestClock moves the time of the bubble.
type TestClock struct{}

func NewTestClock(time.Time) *TestClock { return &TestClock{} }

func (*TestClock) Add(d time.Duration) { time.Sleep(d) }

// Size returns the number of values and of missing records.
func (c *Client[T]) Size() int { return c.Len() + c.Stats().Negatives }

// BatchKeyFn returns a function that makes keys of ids.
func (c *Client[T]) BatchKeyFn(prefix string) func(id string) string {
	return func(id string) string { return prefix + "-" + id }
}

// GetMany returns the values that are there.
func (c *Client[T]) GetMany(keys []string) map[string]T {
	found := map[string]T{}
	for _, key := range keys {
		if v, ok := c.Get(key); ok {
			found[key] = v
		}
	}
	return found
}

func (c *Client[T]) GetOrFetch(ctx context.Context, key string, fetch func(context.Context) (T, error)) (T, error) {
	return GetOrFetch(ctx, c, key, fetch)
}

func (c *Client[T]) GetOrFetchBatch(ctx context.Context, ids []string, key func(id string) string, fetch func(context.Context, []string) (map[string]T, error)) (map[string]T, error) {
	return GetOrFetchBatch(ctx, c, ids, key, fetch)
}

// missing says that a record is missing, and is kept as such if the cache does that.
func missing[T any](l *cache.Load[T], keep time.Duration) {
	l.NotFound, l.Err = true, ErrNotFound
	if keep > 0 {
		l.Err, l.KeepError = ErrMissingRecord, keep
	}
}

// GetOrFetch is TakeWith for values of a type that may be another one than that of the cache.
func GetOrFetch[V, T any](ctx context.Context, c *Client[T], key string, fetch func(context.Context) (V, error)) (none V, _ error) {
	got, err := c.TakeWith(ctx, key, func(ctx context.Context, l *cache.Load[T]) (T, error) {
		fetched, err := fetch(ctx)
		value, ok := any(fetched).(T)
		switch {
		case errors.Is(err, ErrNotFound):
			missing(l, c.missing)
		case err != nil:
			l.Err = err
		case !ok:
			l.Err = ErrInvalidType
		}
		return value, l.Err
	})
	if err != nil {
		return none, err
	}
	value, ok := any(got).(V)
	if !ok {
		return none, ErrInvalidType
	}
	return value, nil
}

// GetOrFetchBatch is TakeManyWith, likewise. It returns what it has with ErrOnlyCachedRecords.
func GetOrFetchBatch[V, T any](ctx context.Context, c *Client[T], ids []string, key func(id string) string, fetch func(context.Context, []string) (map[string]V, error)) (map[string]V, error) {
	keys := make([]string, len(ids))
	of := map[string]string{}
	for i, id := range ids {
		keys[i] = key(id)
		of[keys[i]] = id
	}
	got, err := c.TakeManyWith(ctx, keys, func(ctx context.Context, loads map[string]*cache.Load[T]) (map[string]T, error) {
		var asked []string
		for k := range loads {
			asked = append(asked, of[k])
		}
		fetched, err := fetch(ctx, asked)
		if err != nil {
			return nil, err
		}
		values := map[string]T{}
		for k, l := range loads {
			v, there := fetched[of[k]]
			value, ok := any(v).(T)
			switch {
			case !there:
				missing(l, c.missing)
			case !ok:
				l.Err = ErrInvalidType
			default:
				values[k] = value
			}
		}
		return values, nil
	})
	values := map[string]V{}
	for k, v := range got {
		value, ok := any(v).(V)
		if !ok {
			return nil, ErrInvalidType
		}
		values[of[k]] = value
	}
	if err != nil && len(values) > 0 {
		err = errors.Join(err, ErrOnlyCachedRecords)
	}
	return values, err
}

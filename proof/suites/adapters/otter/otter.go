// Package otter has the names of github.com/maypok86/otter/v2 that its tests of loads use, on top of
// package cache.
package otter

//lint:file-ignore U1000 the tests of the original use what is not exported

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"testing"
	"testing/synctest"
	"time"

	theirs "github.com/maypok86/otter/v2"

	"github.com/pinwheel-cache/pinwheel/cache"
	stats "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/otterstats"
)

type (
	BulkLoader[K comparable, V any]        = theirs.BulkLoader[K, V]
	BulkLoaderFunc[K comparable, V any]    = theirs.BulkLoaderFunc[K, V]
	DeletionCause                          = theirs.DeletionCause
	DeletionEvent[K comparable, V any]     = theirs.DeletionEvent[K, V]
	Entry[K comparable, V any]             = theirs.Entry[K, V]
	Loader[K comparable, V any]            = theirs.Loader[K, V]
	LoaderFunc[K comparable, V any]        = theirs.LoaderFunc[K, V]
	Options[K comparable, V any]           = theirs.Options[K, V]
	RefreshCalculator[K comparable, V any] = theirs.RefreshCalculator[K, V]
	RefreshResult[K comparable, V any]     = theirs.RefreshResult[K, V]

	panicError = cache.PanicError
)

const (
	CauseInvalidation = theirs.CauseInvalidation
	CauseReplacement  = theirs.CauseReplacement
	CauseExpiration   = theirs.CauseExpiration
)

// causes are otter's for those of a cache.
var causes = map[cache.Cause]DeletionCause{
	cache.Expired: CauseExpiration, cache.Evicted: theirs.CauseOverflow, cache.Replaced: CauseReplacement,
	cache.Deleted: CauseInvalidation, cache.Cleared: CauseInvalidation,
}

var ErrNotFound = theirs.ErrNotFound

func ExpiryWriting[K comparable, V any](d time.Duration) theirs.ExpiryCalculator[K, V] {
	return theirs.ExpiryWriting[K, V](d)
}

func RefreshWriting[K comparable, V any](d time.Duration) theirs.RefreshCalculator[K, V] {
	return theirs.RefreshWriting[K, V](d)
}

// A Cache is a cache.
type Cache[K comparable, V any] struct {
	own *cache.Cache[K, V]

	// waits is set if the tests run all tasks in the goroutine of the call: then it waits for
	// those in the background.
	waits bool
}

// Must makes a cache of the options that tests of loads use.
func Must[K comparable, V any](o *Options[K, V]) *Cache[K, V] {
	if o == nil {
		o = &Options[K, V]{}
	}
	own := cache.Options[K, V]{Limit: o.MaximumSize, MaxWeight: o.MaximumWeight, Weigh: o.Weigher}
	if o.ExpiryCalculator != nil {
		own.Expire = o.ExpiryCalculator.ExpireAfterCreate(Entry[K, V]{})
	}
	if o.RefreshCalculator != nil {
		own.RefreshAfter = o.RefreshCalculator.RefreshAfterCreate(Entry[K, V]{})
		own.RetryAfter = func(int) time.Duration { return 0 }
	}
	if o.OnDeletion != nil {
		own.OnRemove = func(e cache.Event[K, V]) {
			o.OnDeletion(DeletionEvent[K, V]{Key: e.Key, Value: e.Value, Cause: causes[e.Cause]})
		}
	}
	own.LoadMany = loadMany[K, V]
	c, err := cache.New(own)
	if err != nil {
		panic(err)
	}
	if counter, ok := o.StatsRecorder.(*stats.Counter); ok {
		counter.Of = c.Stats
	}
	return &Cache[K, V]{c, o.Executor != nil}
}

// settle waits for what goes on in the background: the time of a bubble passes when all else waits.
func (c *Cache[K, V]) settle() {
	if c.waits {
		time.Sleep(time.Nanosecond)
	}
}

func (c *Cache[K, V]) GetIfPresent(key K) (V, bool) { return c.own.Get(key) }
func (c *Cache[K, V]) Invalidate(key K) (V, bool)   { return c.own.GetAndDel(key) }
func (c *Cache[K, V]) InvalidateAll()               { c.own.Clear() }
func (c *Cache[K, V]) EstimatedSize() int           { return c.own.Len() }
func (c *Cache[K, V]) CleanUp()                     {}

// GetEntryQuietly knows when the entry expires.
func (c *Cache[K, V]) GetEntryQuietly(key K) (Entry[K, V], bool) {
	e, ok := c.own.Entry(key)
	if !ok {
		return Entry[K, V]{}, false
	}
	now := time.Now().UnixNano()
	expires := int64(math.MaxInt64)
	if e.TTL < math.MaxInt64 {
		expires = now + int64(e.TTL)
	}
	return Entry[K, V]{Key: key, Value: e.Value, ExpiresAtNano: expires, SnapshotAtNano: now}, true
}

func (c *Cache[K, V]) GetEntry(key K) (Entry[K, V], bool) {
	if !c.has(key) {
		return Entry[K, V]{}, false
	}
	return c.GetEntryQuietly(key)
}

func (c *Cache[K, V]) SetExpiresAfter(key K, d time.Duration) {
	if d > 0 {
		c.own.Touch(key, d)
	}
}

func (c *Cache[K, V]) Set(key K, value V) (V, bool) {
	if old, ok := c.own.Swap(key, value); ok {
		return old, false
	}
	return value, true
}

func (c *Cache[K, V]) has(key K) bool {
	_, ok := c.own.Get(key)
	return ok
}

func (c *Cache[K, V]) Keys() iter.Seq[K] { return maps.Keys(maps.Collect(c.own.All())) }

func (c *Cache[K, V]) Coldest() iter.Seq[Entry[K, V]] { return c.entries(c.own.Coldest()) }
func (c *Cache[K, V]) Hottest() iter.Seq[Entry[K, V]] { return c.entries(c.own.Hottest()) }

// entries leaves out what has expired since it was read.
func (c *Cache[K, V]) entries(all iter.Seq2[K, V]) iter.Seq[Entry[K, V]] {
	return func(yield func(Entry[K, V]) bool) {
		for key := range all {
			if e, ok := c.GetEntryQuietly(key); ok && !yield(e) {
				return
			}
		}
	}
}

func (c *Cache[K, V]) Get(ctx context.Context, key K, loader Loader[K, V]) (V, error) {
	defer c.settle()
	return c.own.TakeWith(ctx, key, func(ctx context.Context, l *cache.Load[V]) (V, error) {
		return loadOne(ctx, key, l, loader)
	})
}

func loadOne[K comparable, V any](ctx context.Context, key K, l *cache.Load[V], loader Loader[K, V]) (v V, err error) {
	if l.HasOld {
		v, err = loader.Reload(ctx, key, l.Old)
	} else {
		v, err = loader.Load(ctx, key)
	}
	l.Gone = errors.Is(err, ErrNotFound)
	return v, err
}

func (c *Cache[K, V]) BulkGet(ctx context.Context, keys []K, loader BulkLoader[K, V]) (map[K]V, error) {
	defer c.settle()
	return c.own.TakeMany(with(ctx, loader), keys, cache.WithLoads(loadMany[K, V]))
}

// Refresh loads as [cache.Cache.Refresh] does, by a loader in the context, as it has none of the call.
func (c *Cache[K, V]) Refresh(ctx context.Context, key K, loader Loader[K, V]) <-chan RefreshResult[K, V] {
	results := make(chan RefreshResult[K, V], 1)
	many := c.BulkRefresh(ctx, []K{key}, single[K, V]{loader})
	go func() { results <- (<-many)[0] }()
	c.settle()
	return results
}

func (c *Cache[K, V]) BulkRefresh(ctx context.Context, keys []K, loader BulkLoader[K, V]) <-chan []RefreshResult[K, V] {
	results := make(chan []RefreshResult[K, V], 1)
	go func() {
		err := c.own.Refresh(with(context.WithoutCancel(ctx), loader), keys...)
		all := make([]RefreshResult[K, V], len(keys))
		for i, key := range keys {
			v, ok := c.own.Peek(key)
			all[i] = RefreshResult[K, V]{Key: key, Value: v, Err: err}
			if err == nil && !ok {
				all[i].Err = ErrNotFound
			}
		}
		results <- all
	}()
	c.settle()
	return results
}

// loaderOf is the key of a loader in a context.
type loaderOf struct{}

func with[K comparable, V any](ctx context.Context, l BulkLoader[K, V]) context.Context {
	return context.WithValue(ctx, loaderOf{}, l)
}

// loadMany loads keys by the loader in ctx: those without a value, and then those with one.
func loadMany[K comparable, V any](ctx context.Context, keys []K, loads []*cache.Load[V]) (map[K]V, error) {
	loader := ctx.Value(loaderOf{}).(BulkLoader[K, V])
	var absent, present []K
	var old []V
	for i, l := range loads {
		if l.HasOld {
			present, old = append(present, keys[i]), append(old, l.Old)
		} else {
			absent = append(absent, keys[i])
		}
	}
	found := map[K]V{}
	if len(absent) > 0 {
		loaded, err := loader.BulkLoad(ctx, absent)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, loaded)
	}
	if len(present) > 0 {
		loaded, err := loader.BulkReload(ctx, present, old)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, loaded)
	}
	return found, nil
}

// single is a loader of several keys for a call with one.
type single[K comparable, V any] struct{ Loader[K, V] }

func (l single[K, V]) BulkLoad(ctx context.Context, keys []K) (map[K]V, error) {
	v, err := l.Load(ctx, keys[0])
	return one(keys[0], v, err)
}

func (l single[K, V]) BulkReload(ctx context.Context, keys []K, old []V) (map[K]V, error) {
	v, err := l.Reload(ctx, keys[0], old[0])
	return one(keys[0], v, err)
}

// one is what a loader of several keys returns for one.
func one[K comparable, V any](key K, v V, err error) (map[K]V, error) {
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return map[K]V{key: v}, err
}

// A clock of the tests is that of the bubble that they run in.
type nonTickingClock struct{}

func newNonTickingClock() *nonTickingClock { return &nonTickingClock{} }

func (*nonTickingClock) NowNano() int64                      { return time.Now().UnixNano() }
func (*nonTickingClock) Tick(time.Duration) <-chan time.Time { return nil }
func (*nonTickingClock) Sleep(d time.Duration)               { time.Sleep(d) }

type fakeSource = nonTickingClock

// waitForJoinedLoad waits until each goroutine of the bubble waits for another.
func waitForJoinedLoad(*testing.T) { synctest.Wait() }

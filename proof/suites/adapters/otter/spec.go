package otter

//lint:file-ignore U1000 the tests of the original use these

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	stats "github.com/pinwheel-cache/pinwheel/proof/suites/adapters/otterstats"
)

// Otter runs many tests with each combination of its features, by forEachSpec. Here they run with those
// that a cache has: with and without a limit, TTLs and refreshes. Tasks run in the background.

type (
	executorKind   struct{}
	expiryKind     bool
	populationKind int // entries
	refreshKind    bool
)

const (
	specMaximum = 10
	specExpiry  = time.Minute
	specRefresh = 30 * time.Second
	absentKey   = 1000

	noExpiry       expiryKind     = false
	expiryWriting  expiryKind     = true
	noRefresh      refreshKind    = false
	refreshWriting refreshKind    = true
	emptyCache     populationKind = 0
	partialCache   populationKind = specMaximum / 2
)

var (
	withExpiry   = []expiryKind{expiryWriting}
	withRefresh  = []refreshKind{refreshWriting}
	withRoom     = []populationKind{emptyCache, partialCache}
	allExecutors []executorKind
)

type cacheSpec struct {
	expiry     []expiryKind
	refresh    []refreshKind
	population []populationKind
	executor   []executorKind
	logs       bool
}

// forEachSpec calls test with a cache of each configuration.
func forEachSpec(t *testing.T, spec cacheSpec, test func(t *testing.T, cc *cacheContext)) {
	for _, maximum := range []int{0, specMaximum} {
		for _, expiry := range orAll(spec.expiry, noExpiry, expiryWriting) {
			for _, refresh := range orAll(spec.refresh, noRefresh, refreshWriting) {
				for _, population := range orAll(spec.population, emptyCache) {
					t.Logf("limit %d, expires: %v, refreshes: %v, %d entries", maximum, expiry, refresh, population)
					test(t, newCacheContext(maximum, expiry, refresh, population))
				}
			}
		}
	}
}

func orAll[T any](given []T, all ...T) []T {
	if len(given) > 0 {
		return given
	}
	return all
}

// A cacheContext is a cache with what it tells.
type cacheContext struct {
	cache    specCache
	stats    *stats.Counter
	original map[int]int // the population
	expiry   expiryKind

	mu        sync.Mutex
	deletions []DeletionEvent[int, int]
}

func newCacheContext(maximum int, expiry expiryKind, refresh refreshKind, population populationKind) *cacheContext {
	cc := &cacheContext{stats: stats.NewCounter(), original: map[int]int{}, expiry: expiry}
	o := Options[int, int]{MaximumSize: maximum, StatsRecorder: cc.stats, Executor: func(func()) {}}
	if expiry {
		o.ExpiryCalculator = ExpiryWriting[int, int](specExpiry)
	}
	if refresh {
		o.RefreshCalculator = RefreshWriting[int, int](specRefresh)
	}
	o.OnDeletion = func(e DeletionEvent[int, int]) {
		cc.mu.Lock()
		defer cc.mu.Unlock()
		cc.deletions = append(cc.deletions, e)
	}
	cc.cache = specCache{Must(&o)}
	for key := 1; key <= int(population); key++ {
		cc.cache.Set(key, -key)
		cc.original[key] = -key
	}
	return cc
}

func (cc *cacheContext) run()                          { cc.cache.settle() }
func (cc *cacheContext) advance(d time.Duration)       { time.Sleep(d) }
func (cc *cacheContext) requireLogged(*testing.T, int) {} // errors go to the callers and the statistics

func (cc *cacheContext) requireValue(t *testing.T, key, want int) {
	t.Helper()
	e, _ := cc.cache.GetEntryQuietly(key)
	require.Equal(t, want, e.Value)
}

func (cc *cacheContext) requireDeletions(t *testing.T, want ...DeletionEvent[int, int]) {
	t.Helper()
	cc.run()
	cc.mu.Lock()
	defer cc.mu.Unlock()
	require.Equal(t, slices.Clip(want), slices.Clip(cc.deletions))
}

func (cc *cacheContext) requireDeletionsByKey(t *testing.T, want ...DeletionEvent[int, int]) {
	t.Helper()
	cc.run()
	cc.mu.Lock()
	defer cc.mu.Unlock()
	require.ElementsMatch(t, want, cc.deletions)
}

// A specCache has otter's methods as its tests of specs call them.
type specCache struct{ *Cache[int, int] }

func (c specCache) Get(key int, l Loader[int, int]) (int, error) {
	return c.GetContext(context.Background(), key, l)
}

func (c specCache) GetContext(ctx context.Context, key int, l Loader[int, int]) (int, error) {
	return c.Cache.Get(ctx, key, l)
}

func (c specCache) BulkGet(keys []int, l BulkLoader[int, int]) (map[int]int, error) {
	return c.BulkGetContext(context.Background(), keys, l)
}

func (c specCache) BulkGetContext(ctx context.Context, keys []int, l BulkLoader[int, int]) (map[int]int, error) {
	return c.Cache.BulkGet(ctx, keys, l)
}

func (c specCache) Refresh(key int, l Loader[int, int]) <-chan RefreshResult[int, int] {
	return c.RefreshContext(context.Background(), key, l)
}

func (c specCache) RefreshContext(ctx context.Context, key int, l Loader[int, int]) <-chan RefreshResult[int, int] {
	return c.Cache.Refresh(ctx, key, l)
}

func (c specCache) BulkRefreshContext(ctx context.Context, keys []int, l BulkLoader[int, int]) <-chan []RefreshResult[int, int] {
	return c.BulkRefresh(ctx, keys, l)
}

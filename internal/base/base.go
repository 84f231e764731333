// Package base is what packages see of a cache that build on one, as near does. Programs need none of it.
package base

import (
	"context"
	"time"

	"github.com/pinwheel-cache/pinwheel/internal/sources"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A Cache is a cache.Cache to build on, by cache.For; L is its cache.Load. It is safe for concurrent use.
type Cache[K comparable, V, L any] interface {
	// Take is TakeWith for a caller whose Get has just missed the key: it counts no second miss.
	// Get and Take together allocate a function literal for fetch only at a miss; TakeWith allocates it
	// at every hit.
	Take(ctx context.Context, key K, fetch func(ctx context.Context, l *L) (V, error)) (V, error)

	// TakeMany is that of cache.Cache with a function as the option LoadMany. It returns values, and the
	// errors of single keys. A key with a kept error has neither, unless the error has a method
	// KeptAsPause.
	TakeMany(ctx context.Context, keys []K, fetch func(ctx context.Context, missing []K, loads []*L) (map[K]V, error)) (map[K]V, map[K]error)

	// FetchMany is that of a cache with Load or LoadMany, but returns what TakeMany does.
	FetchMany(ctx context.Context, keys []K) (map[K]V, map[K]error)

	// Closed reports whether Close has been called.
	Closed() bool

	// Name returns the name of the cache in the statistics, and Hash the hash of a key, by which errors and
	// the page name it.
	Name() string
	Hash(key K) uint64

	// Follow makes the cache tell of callers that have waited for the loads of others. Call it once, before
	// the cache is used.
	Follow(told Followed)

	// Amend makes what builds on the cache add to its statistics.
	// Call Amend once, before the cache is used.
	Amend(by Owner)
}

// An Owner is what builds on a cache. Its functions are called outside all locks, by several goroutines at once, and
// must not ask for statistics. Each may be nil.
type Owner struct {
	Amend    func(*stats.Snapshot)                   // changes each Snapshot before Stats or package stats return it
	Operate  func(*sources.Operation)                // adds to what operators see
	Failures func() (store, source *sources.Failure) // as that of sources.Cache

	Violation  func() *sources.Violation // likewise
	PurgeFleet sources.PurgeFleet
}

// A Load is the context that the function of a load gets.
type Load interface {
	context.Context

	// InBackground reports whether the load goes on without callers, as a renewal does.
	InBackground() bool

	// Waited returns how long the load has waited for a permit. It is for the goroutine of the function.
	Waited() time.Duration

	// Enter notes a context that the function has made of this one. Followed gets it.
	Enter(ctx context.Context)
}

// Followed is told that a caller has waited for the load of another, since when, and the error by which the load
// has failed, or why the caller has left. load is what the function of the load has made of its context, or nil if
// nobody has called Enter. It is called outside all locks, by several goroutines at once.
type Followed func(caller, load context.Context, hash uint64, began time.Time, err error)

package main

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// A target is a cache under load, and what its counters must say at rest.
type target[K comparable, V any] struct {
	spec[K, V]
	store  store[K, V]
	failed *failure
	keys   []K
	bound  bound

	gets     atomic.Uint64 // calls that count as a hit or a miss
	fetches  atomic.Uint64 // that have ended
	fetching atomic.Int64
	reports  [cache.Cleared + 1]atomic.Uint64 // calls of OnRemove, by cause
	calls    atomic.Int64                     // of OnRemove running now
	panics   atomic.Uint64                    // of OnRemove
	resting  atomic.Bool                      // OnRemove must not use the cache
}

// A spec says how to make a target.
type spec[K comparable, V any] struct {
	form[K, V]
	options  cache.Options[K, V]
	size     int                        // number of keys
	listens  bool                       // has OnRemove
	callback func(*rand.Rand) behaviour // of OnRemove; nil means quick
	limits   []int                      // that Resize chooses from
	weighs   bool
}

// A store is the part of a cache that is used here. Tests implement it with faults.
type store[K comparable, V any] interface {
	Get(key K) (V, bool)
	Peek(key K) (V, bool)
	Set(key K, value V)
	SetWithExpire(key K, value V, expire time.Duration)
	Touch(key K, expire time.Duration) bool
	GetOrSet(key K, value V) (V, bool)
	Del(key K) bool
	Compute(key K, f func(V, bool) (V, cache.Op)) (V, bool)
	Take(key K, fetch func() (V, error)) (V, error)
	TakeCtx(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error)
	Clear()
	Resize(limit int) error
	All() iter.Seq2[K, V]
	Len() int
	Stats() stats.Snapshot
	Close(ctx context.Context) error
}

// newTarget makes a cache by open.
func newTarget[K comparable, V any](s spec[K, V], open func(cache.Options[K, V]) store[K, V], f *failure) *target[K, V] {
	t := &target[K, V]{spec: s, failed: f}
	for i := range s.size {
		t.keys = append(t.keys, s.key(i))
	}
	o := s.options
	if s.listens {
		o.OnRemove, o.OnPanic = t.onRemove, func(any, []byte) {}
	}
	if s.weighs {
		o.Weigh = func(_ K, v V) uint32 { return weightOf(s.id(v)) }
	}
	t.bound.set(o.Limit)
	t.store = open(o)
	return t
}

func openCache[K comparable, V any](o cache.Options[K, V]) store[K, V] { return cache.Must(o) }

// weightOf returns the weight of a value: one in a thousand is too heavy for any cache.
func weightOf(id uint64) uint32 {
	if id%1000 == 999 {
		return 1 << 30
	}
	return uint32(id % 61)
}

// wrong reports a violation.
func (t *target[K, V]) wrong(format string, args ...any) {
	t.failed.report(violation{Subject: t.options.Name, What: fmt.Sprintf(format, args...)})
}

// own checks that a value is of the key with number i, and returns its id.
func (t *target[K, V]) own(i int, value V) uint64 {
	id := t.id(value)
	if keyOf(id) != i {
		t.wrong("key %v has a value of key %d", t.keys[i], keyOf(id))
	}
	return id
}

// measure checks the limits.
func (t *target[K, V]) measure() {
	if n, limit, exceeded := t.bound.exceeded(t.store.Len); exceeded {
		t.wrong("Len is %d, the limit is %d", n, limit)
	}
	// Not s.Entries: Stats reads one shard after another and may count a few too many.
	if s := t.store.Stats(); s.Weight > s.MaxWeight {
		t.wrong("the entries weigh %d, the limit is %d", s.Weight, s.MaxWeight)
	}
}

// scan iterates over all entries, or over some.
func (t *target[K, V]) scan(whole bool) {
	seen := make([]uint64, t.size)
	left := t.size / 2
	for k, value := range t.store.All() {
		i := keyOf(t.id(value)) // below size: only own values are stored
		if t.keys[i] != k {
			t.wrong("All: key %v has a value of key %v", k, t.keys[i])
		}
		if id := t.id(value); id == seen[i] {
			t.wrong("All: a value of key %v was seen twice", k)
		} else {
			seen[i] = id
		}
		if left--; left < 0 && !whole {
			return
		}
	}
}

func (t *target[K, V]) clear() { t.store.Clear() }

// resize gives the cache another limit, if it has several.
func (t *target[K, V]) resize(h *hand) {
	if t.limits == nil {
		return
	}
	limit := t.limits[h.rng.IntN(len(t.limits))]
	t.bound.change(limit, func() {
		if err := t.store.Resize(limit); err != nil {
			t.wrong("Resize(%d): %v", limit, err)
		}
	})
}

// onRemove is OnRemove of the cache.
func (t *target[K, V]) onRemove(e cache.Event[K, V]) {
	workers := t.options.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if n := t.calls.Add(1); n > int64(workers) {
		t.wrong("%d calls of OnRemove at once, want at most %d", n, workers)
	}
	defer t.calls.Add(-1)
	id := t.id(e.Value)
	if i := keyOf(id); t.keys[i] != e.Key {
		t.wrong("OnRemove: key %v has a value of key %v", e.Key, t.keys[i])
	}
	if e.Cause < cache.Expired || e.Cause > cache.Cleared {
		t.wrong("OnRemove: there is no cause %d", e.Cause)
		return
	}
	t.reports[e.Cause].Add(1)
	if t.callback == nil {
		return
	}
	rng := rand.New(rand.NewPCG(id, 0))
	switch does := t.callback(rng); does {
	case panicking, exiting:
		t.panics.Add(1)
		_ = does.do(context.Background(), 0)
	case useCache:
		if !t.resting.Load() {
			t.operate(&hand{rng: rng, inCallback: true}, callbackMix.choose(rng), rng.IntN(t.size))
		}
	default:
		_ = does.do(context.Background(), time.Duration(rng.IntN(1000))*time.Microsecond)
	}
}

// audit checks the counters. Nobody may use the cache meanwhile.
func (t *target[K, V]) audit() {
	t.resting.Store(true)
	defer t.resting.Store(false)
	if wrong := eventually(t.failed, t.atRest); wrong != "" && t.failed.found() == nil {
		t.wrong("at rest: %s", wrong)
		return
	}
	t.measure()
	t.scan(true)
}

// atRest compares the counters of the cache with what was done.
func (t *target[K, V]) atRest() string {
	s := t.store.Stats()
	r := s.Removals
	byCause := map[cache.Cause]uint64{
		cache.Expired: r.Expired, cache.Evicted: r.Evicted, cache.Deleted: r.Deleted, cache.Replaced: r.Replaced, cache.Cleared: r.Cleared,
	}
	var left uint64
	for cause, n := range byCause {
		left += n
		if got := t.reports[cause].Load(); t.listens && got != n {
			return fmt.Sprintf("%d values were removed as %v, but OnRemove was called for %d", n, cause, got)
		}
	}
	switch loads := s.Loads.OK.Count() + s.Loads.Failed.Count(); {
	case t.fetching.Load() > 0 || t.calls.Load() > 0:
		return fmt.Sprintf("%d fetches and %d calls of OnRemove are running", t.fetching.Load(), t.calls.Load())
	case s.Hits+s.Misses != t.gets.Load():
		return fmt.Sprintf("%d hits and %d misses, of %d gets", s.Hits, s.Misses, t.gets.Load())
	case loads != t.fetches.Load():
		return fmt.Sprintf("%d loads, of %d fetches", loads, t.fetches.Load())
	case s.Callbacks.Panics != t.panics.Load():
		return fmt.Sprintf("%d calls of OnRemove panicked, but the statistics say %d", t.panics.Load(), s.Callbacks.Panics)
	case s.Sets != left+uint64(s.Entries):
		return fmt.Sprintf("%d sets, %d removals and %d entries", s.Sets, left, s.Entries)
	}
	return ""
}

// close closes the cache at the end of the run.
func (t *target[K, V]) close() {
	t.resting.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), t.failed.patience)
	defer cancel()
	if err := t.store.Close(ctx); err != nil {
		t.wrong("Close: %v", err)
	}
	if n := t.store.Len(); n != 0 {
		t.wrong("after Close there are %d entries", n)
	}
	for _, key := range t.keys {
		t.gets.Add(1)
		if _, found := t.store.Get(key); found {
			t.wrong("after Close there is a value of key %v", key)
		}
	}
	if wrong := t.atRest(); wrong != "" {
		t.wrong("after Close: %s", wrong)
	}
}

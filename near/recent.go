package near

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/pinwheel-cache/pinwheel/cache"
)

// A recent has what was loaded while the source vouched for nothing, or did not cover the key.
// No source tells when that changes. But a value that a load has read is not older than the
// load, so callers may share a load, and get its value later, until MaxLag after it began.
type recent[K comparable, V any] struct {
	cache    *cache.Cache[K, loaded[V]]
	maxLag   time.Duration
	age      time.Duration             // takeMany shares a load with callers who come so long after it began
	negative func(error) time.Duration // or nil
}

// A loaded is what a load has brought, and when that began. That a key has no value is kept
// like one, as callers must know how old it is; every other error stays an error of the load.
type loaded[V any] struct {
	value V
	none  error // why there is no value, or nil
	began time.Time
}

// newRecent returns a recent with the limits of a cache with options o.
func newRecent[K comparable, V any](o cache.Options[K, V], maxLag time.Duration, strict bool) (*recent[K, V], error) {
	r := &recent[K, V]{maxLag: maxLag, age: maxLag, negative: o.Negative}
	if strict {
		r.age = 0
	}
	limits := cache.Options[K, loaded[V]]{
		Limit: o.Limit, MaxWeight: o.MaxWeight, Policy: o.Policy, Timeout: o.Timeout, MaxLoads: o.MaxLoads, OnPanic: o.OnPanic,
		Expire: maxLag, Unlisted: true,
	}
	if o.Weigh != nil {
		limits.Weigh = func(key K, one loaded[V]) uint32 { return o.Weigh(key, one.value) }
	}
	var err error
	r.cache, err = cache.New(limits)
	return r, err
}

// take returns what a load has brought that began at most MaxLag before the call, or calls
// load. had says that it was the load of another caller. If keep is not set, load is shared by
// the callers that come before it ends, and the result is not kept.
func (r *recent[K, V]) take(ctx context.Context, key K, keep bool, load func(context.Context, *cache.Load[V]) (V, error)) (value V, had bool, err error) {
	oldest := time.Now().Add(-r.maxLag)
	if got, ok := r.cache.Peek(key); ok && !got.began.Before(oldest) {
		return got.value, true, got.none
	}
	for {
		had := true
		got, err := r.cache.TakeMissed(ctx, key, func(ctx context.Context, l *cache.Load[loaded[V]]) (loaded[V], error) {
			had = false
			return r.load(ctx, l, keep, load)
		})
		if err != nil {
			return value, false, err
		}
		if !got.began.Before(oldest) {
			return got.value, had, got.none
		}
		// The load that brought it began too early. It has ended, and its result is not kept:
		// all who waited for it share the next one.
	}
}

// load calls a load.
func (r *recent[K, V]) load(ctx context.Context, outer *cache.Load[loaded[V]], keep bool, load func(context.Context, *cache.Load[V]) (V, error)) (loaded[V], error) {
	began := time.Now()
	l := cache.Load[V]{Expire: -1}
	value, err := load(ctx, &l)
	if err != nil {
		l.Err = err
	}
	return r.result(outer, &l, value, began, keep)
}

// result returns what a load that began at a time has brought, which told l, and tells outer
// for how long that is kept: at most until MaxLag after it began.
func (r *recent[K, V]) result(outer *cache.Load[loaded[V]], l *cache.Load[V], value V, began time.Time, keep bool) (loaded[V], error) {
	left := r.maxLag - time.Since(began)
	if !keep || left <= 0 {
		left = -1
	}
	if l.Err == nil {
		outer.Expire = min(left, cmp.Or(l.Expire, left))
		return loaded[V]{value: value, began: began}, nil
	}
	kept := l.KeepError
	if kept == 0 && r.negative != nil {
		kept = r.negative(l.Err)
	}
	kept = min(left, cmp.Or(kept, -1))
	if !l.NotFound {
		outer.KeepError = kept
		return loaded[V]{}, l.Err
	}
	outer.Expire = kept
	return loaded[V]{none: l.Err, began: began}, nil
}

// takeMany is take for several keys, each once. had is how many of them other callers have
// loaded.
func (r *recent[K, V]) takeMany(ctx context.Context, keys []K, keep func(K) bool, load func(context.Context, map[K]*cache.Load[V]) (map[K]V, error)) (values map[K]V, had int, err error) {
	oldest := time.Now().Add(-r.age)
	values = make(map[K]V, len(keys))
	had = len(keys)
	var own atomic.Int64 // the load may go on when the caller has left
	for len(keys) > 0 && err == nil {
		var got map[K]loaded[V]
		got, err = r.cache.TakeManyWith(ctx, keys, func(ctx context.Context, outer map[K]*cache.Load[loaded[V]]) (map[K]loaded[V], error) {
			own.Add(int64(len(outer)))
			began := time.Now()
			loads := make(map[K]*cache.Load[V], len(outer))
			for key := range outer {
				loads[key] = &cache.Load[V]{Expire: -1}
			}
			found, err := load(ctx, loads)
			all := make(map[K]loaded[V], len(outer))
			for key, l := range loads {
				if value, ok := found[key]; ok || l.Err != nil {
					all[key], outer[key].Err = r.result(outer[key], l, value, began, keep(key))
				}
			}
			return all, err
		})
		var old []K
		for key, one := range got {
			switch {
			case one.began.Before(oldest), one.none == errMissing: // the latter of a Get, which did not fetch
				old = append(old, key) // not kept either
			case one.none == nil:
				values[key] = one.value
			}
		}
		keys = old
	}
	return values, had - int(own.Load()), err
}

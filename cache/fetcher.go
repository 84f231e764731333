// This file has how the functions of the Takes are called.

package cache

import "context"

// A fetcher calls the function of one of the Takes, and sets the results of the load and of
// all others of its batch. It is an interface of functions, which need no memory for it.
type fetcher[K comparable, V any] interface {
	fetch(ctx context.Context, l *load[K, V])
}

// A fetchCtx is the function of TakeCtx.
type fetchCtx[K comparable, V any] func(ctx context.Context) (V, error)

func (f fetchCtx[K, V]) fetch(ctx context.Context, l *load[K, V]) { l.value, l.Err = f(ctx) }

// A fetchWith is the function of TakeWith.
type fetchWith[K comparable, V any] func(ctx context.Context, l *Load[V]) (V, error)

func (f fetchWith[K, V]) fetch(ctx context.Context, l *load[K, V]) {
	value, err := f(ctx, &l.Load)
	l.returns(value, err)
}

// A fetchKey is the option Load.
type fetchKey[K comparable, V any] func(ctx context.Context, key K, l *Load[V]) (V, error)

func (f fetchKey[K, V]) fetch(ctx context.Context, l *load[K, V]) {
	value, err := f(ctx, l.key, &l.Load)
	l.returns(value, err)
}

// A fetchAlone is the option LoadMany, for one key.
type fetchAlone[K comparable, V any] func(ctx context.Context, loads map[K]*Load[V]) (map[K]V, error)

func (f fetchAlone[K, V]) fetch(ctx context.Context, l *load[K, V]) {
	values, err := f(ctx, map[K]*Load[V]{l.key: &l.Load})
	value, ok := values[l.key]
	if err == nil && l.Err == nil && !l.Unchanged && !ok {
		l.Err, l.NotFound, l.KeepError = errNoValue, true, -1
	}
	l.returns(value, err)
}

// A fetchMissing is the function of TakeMany.
type fetchMissing[K comparable, V any] func(ctx context.Context, missing []K) (map[K]V, error)

func (f fetchMissing[K, V]) fetch(ctx context.Context, first *load[K, V]) {
	missing := make([]K, len(first.batch))
	for i, l := range first.batch {
		missing[i] = l.key
	}
	first.batchReturns(f(ctx, missing))
}

// A fetchLoads is the function of TakeManyWith, or the option LoadMany for several keys.
type fetchLoads[K comparable, V any] func(ctx context.Context, loads map[K]*Load[V]) (map[K]V, error)

func (f fetchLoads[K, V]) fetch(ctx context.Context, first *load[K, V]) {
	loads := make(map[K]*Load[V], len(first.batch))
	for _, l := range first.batch {
		loads[l.key] = &l.Load
	}
	first.batchReturns(f(ctx, loads))
}

// This file calls the functions that load, each in its own way, for run.go. That of the plain Take is
// called in join.go.

package cache

import (
	"context"
	"errors"
)

// A fetcher calls a function that loads, and sets the results of the load and of all others of its
// batch. It is an interface of functions, which need no memory for it.
type fetcher[K comparable, V any] interface {
	fetch(ctx context.Context, l *load[K, V])
}

// A fetchCtx is the function of TakeCtx.
type fetchCtx[K comparable, V any] func(ctx context.Context) (V, error)

func (f fetchCtx[K, V]) fetch(ctx context.Context, l *load[K, V]) { l.value, l.err = f(ctx) }

// A fetchWith is the function of TakeWith.
type fetchWith[K comparable, V any] func(ctx context.Context, l *Load[V]) (V, error)

func (f fetchWith[K, V]) fetch(ctx context.Context, l *load[K, V]) {
	value, err := f(ctx, &l.Load)
	l.setResult(value, true, err)
}

// A fetchKey is the option Load.
type fetchKey[K comparable, V any] func(ctx context.Context, key K, l *Load[V]) (V, error)

func (f fetchKey[K, V]) fetch(ctx context.Context, l *load[K, V]) {
	value, err := f(ctx, l.key, &l.Load)
	l.setResult(value, true, err)
}

// A fetchKeys is the option LoadMany.
type fetchKeys[K comparable, V any] func(ctx context.Context, keys []K, loads []*Load[V]) (map[K]V, error)

func (f fetchKeys[K, V]) fetch(ctx context.Context, first *load[K, V]) {
	values, err := f(ctx, first.keys(), first.arguments())
	first.setResults(values, err, false)
}

// A fetchMissing is the function of TakeMany.
type fetchMissing[K comparable, V any] func(ctx context.Context, missing []K) (map[K]V, error)

func (f fetchMissing[K, V]) fetch(ctx context.Context, first *load[K, V]) {
	values, err := f(&batchContext[K, V]{ctx, first}, first.keys())
	first.setResults(values, err, true)
}

// WithLoads makes a function for [Cache.TakeMany] that gets a [Load] for each key, as the option
// LoadMany does: loads[i] is of missing[i].
//
//	found, err := c.TakeMany(ctx, keys, cache.WithLoads(load))
func WithLoads[K comparable, V any](load func(ctx context.Context, missing []K, loads []*Load[V]) (map[K]V, error)) func(ctx context.Context, missing []K) (map[K]V, error) {
	return func(ctx context.Context, missing []K) (map[K]V, error) {
		batch, ok := ctx.Value(loadsOf).(*batchContext[K, V])
		if !ok {
			return nil, errNoLoads
		}
		return load(ctx, missing, batch.first.arguments())
	}
}

// errNoLoads is returned by a function of WithLoads if it is not called as intended.
var errNoLoads = errors.New("cache: a function of WithLoads has another context than that of TakeMany: give it to TakeMany itself")

// A batchContext is the context of the function of a TakeMany, and has its loads for WithLoads.
type batchContext[K comparable, V any] struct {
	context.Context
	first *load[K, V]
}

// loadsOf is the key by which a batchContext returns itself.
var loadsOf = new(byte)

func (b *batchContext[K, V]) Value(key any) any {
	if key == loadsOf {
		return b
	}
	return b.Context.Value(key)
}

// keys returns the keys of a batch whose first load is l, or of a load by itself.
func (l *load[K, V]) keys() []K {
	keys := append(make([]K, 0, len(l.batch)+1), l.key)
	for _, mate := range l.members() {
		keys = append(keys, mate.key)
	}
	return keys
}

// arguments returns what the function that loads keys is told of each.
func (l *load[K, V]) arguments() []*Load[V] {
	loads := append(make([]*Load[V], 0, len(l.batch)+1), &l.Load)
	for _, mate := range l.members() {
		loads = append(loads, &mate.Load)
	}
	return loads
}

// setResults sets the results of a batch, or of a load by itself, when its function has returned.
// leaves says that other callers load the keys that it has left out.
func (l *load[K, V]) setResults(values map[K]V, err error, leaves bool) {
	if err != nil {
		l.fail(err)
		return
	}
	value, found := values[l.key]
	l.absent = l.setResult(value, found, l.Err) && leaves
	for _, mate := range l.members() {
		mate.setResults(values, nil, leaves)
	}
}

// setResult sets the result of a load when its function has returned. It returns true if the function has
// found no value and says nothing of it.
func (l *load[K, V]) setResult(value V, found bool, err error) (leftOut bool) {
	old := l.value // l.Old may have been changed
	l.value, l.err = value, err
	switch {
	case err != nil:
	case l.Gone:
		l.err = ErrNotFound
	case l.Unchanged && l.renewal:
		l.value = old
	case l.Unchanged:
		l.err = errUnchanged
	case !found:
		l.Gone, l.err = true, ErrNotFound
		return true
	}
	return false
}

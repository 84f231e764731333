// This file calls the functions that the Takes are given, each in its own way, for run.go. That of the
// plain Take is called in join.go.

package cache

import "context"

// A fetcher calls the function of one of the Takes, and sets the results of the load and of
// all others of its batch. It is an interface of functions, which need no memory for it.
type fetcher[K comparable, V any] interface {
	fetch(ctx context.Context, l *load[K, V])
}

// A fetchCtx is the function of TakeCtx.
type fetchCtx[K comparable, V any] func(ctx context.Context) (V, error)

func (f fetchCtx[K, V]) fetch(ctx context.Context, l *load[K, V]) { l.value, l.err = f(ctx) }

// A fetchWith is the function of TakeWith.
type fetchWith[K comparable, V any] func(ctx context.Context, l *Load[V]) (V, error)

func (f fetchWith[K, V]) fetch(ctx context.Context, l *load[K, V]) {
	old := l.Old // f may change l.Load
	l.value, l.err = f(ctx, &l.Load)
	switch {
	case l.err != nil || !l.Unchanged:
	case l.renewal:
		l.value = old
	default:
		l.err = errUnchanged
	}
}

// A fetchMissing is the function of TakeMany.
type fetchMissing[K comparable, V any] func(ctx context.Context, missing []K) (map[K]V, error)

func (f fetchMissing[K, V]) fetch(ctx context.Context, first *load[K, V]) {
	missing := make([]K, len(first.batch))
	for i, l := range first.batch {
		missing[i] = l.key
	}
	values, err := f(ctx, missing)
	if err != nil {
		first.fail(err)
		return
	}
	for _, l := range first.batch {
		l.pick(values)
	}
}

// A fetchEach is the function of TakeManyMissed.
type fetchEach[K comparable, V any] func(ctx context.Context, missing []K, loads []*Load[V]) (map[K]V, map[K]error)

func (f fetchEach[K, V]) fetch(ctx context.Context, first *load[K, V]) {
	missing, loads := make([]K, len(first.batch)), make([]*Load[V], len(first.batch))
	for i, l := range first.batch {
		missing[i], loads[i] = l.key, &l.Load
	}
	values, errs := f(ctx, missing, loads)
	for _, l := range first.batch {
		l.Unchanged = false
		if l.err = errs[l.key]; l.err == nil {
			l.pick(values)
		}
	}
}

// pick makes the value of the load's key its result. If there is none, nothing is stored.
func (l *load[K, V]) pick(values map[K]V) {
	value, ok := values[l.key]
	if l.value = value; !ok {
		l.absent, l.Expire = true, -1
	}
}

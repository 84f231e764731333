package main

import (
	"context"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/pinwheel-cache/pinwheel/proof/lincheck"
)

// ever is a TTL that means never.
const ever = 10 * 365 * 24 * time.Hour

func forEver(ttl time.Duration) time.Duration {
	if ttl == 0 {
		return ever
	}
	return ttl
}

// openOtter puts the TTL into the value, where otter's calculator finds it: otter's Set has no
// TTL, and Set followed by SetExpiresAfter would be two operations.
func openOtter(c config) (*lincheck.Subject, func()) {
	options := otter.Options[int, wide]{MaximumSize: c.limit}
	if c.ttl > 0 {
		options.ExpiryCalculator = otter.ExpiryWritingFunc(func(e otter.Entry[int, wide]) time.Duration {
			return forEver(e.Value.ttl)
		})
	}
	var refreshing sync.WaitGroup
	if c.refresh {
		options.RefreshCalculator = otter.RefreshWriting[int, wide](time.Nanosecond)
		options.Executor = func(run func()) { refreshing.Go(run) }
	}
	o := otter.Must(&options)
	s := &lincheck.Subject{
		Get: func(key int) (int64, bool) { return narrowed(o.GetIfPresent(key)) },
		Peek: func(key int) (int64, bool) {
			e, ok := o.GetEntryQuietly(key)
			return e.Value.narrow(), ok
		},
		Set: func(key int, value int64) { o.Set(key, widen(value, c.ttl)) },
		Del: func(key int) bool {
			_, ok := o.Invalidate(key)
			return ok
		},
		GetOrSet: func(key int, value int64) (int64, bool) {
			actual, stored := o.SetIfAbsent(key, widen(value, c.ttl))
			return actual.narrow(), !stored
		},
		Compute: func(key int, f func(int64, bool) (int64, lincheck.Action)) (int64, bool) {
			return narrowed(o.Compute(key, func(old wide, found bool) (wide, otter.ComputeOp) {
				value, does := f(old.narrow(), found)
				return widen(value, c.ttl), [...]otter.ComputeOp{otter.CancelOp, otter.WriteOp, otter.InvalidateOp}[does]
			}))
		},
		Take: func(key int, fetch func() (int64, error)) (int64, error) {
			v, err := o.Get(context.Background(), key, otter.LoaderFunc[int, wide](func(context.Context, int) (wide, error) {
				value, err := fetch()
				return widen(value, c.ttl), err
			}))
			return v.narrow(), err
		},
		Clear: o.InvalidateAll,
	}
	if c.refresh {
		s.Detached, s.Settle, s.TakeMany = true, refreshing.Wait, otterTakeMany(o)
		s.NoErrors = true // it logs each refresh that fails
	}
	if c.ttl > 0 {
		s.SetWithExpire = func(key int, value int64, ttl time.Duration) { o.Set(key, widen(value, forEver(ttl))) }
		s.Renew = func(key int, ttl time.Duration) { o.SetExpiresAfter(key, forEver(ttl)) }
	}
	return s, func() { o.StopAllGoroutines() }
}

func otterTakeMany(o *otter.Cache[int, wide]) func([]int, func([]int) (map[int]int64, error)) (map[int]int64, error) {
	return func(keys []int, fetch func([]int) (map[int]int64, error)) (map[int]int64, error) {
		values, err := o.BulkGet(context.Background(), keys, otter.BulkLoaderFunc[int, wide](func(_ context.Context, missing []int) (map[int]wide, error) {
			fetched, err := fetch(missing)
			return widenAll(fetched, 0), err
		}))
		return narrowAll(values), err
	}
}
